package testmcp_test

import (
	"os"
	"testing"

	"mcphub/internal/testmcp"
)

func TestMain(m *testing.M) {
	testmcp.Main()
	os.Exit(m.Run())
}
