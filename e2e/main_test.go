package e2e

import (
	"fmt"
	"os"
	"testing"
)

var lab *Lab

func TestMain(m *testing.M) {
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
