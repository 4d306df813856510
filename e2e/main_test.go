package e2e

import (
	"fmt"
	"os"
	"testing"

	"mcphub/internal/testmcp"
)

var lab *Lab

func TestMain(m *testing.M) {
	testmcp.Main() // servers whose lists and resources change when a test wants it
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if lab, err = Open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer lab.Close()
	return m.Run()
}
