package manual_test

import (
	"bytes"
	"os"
	"testing"

	"mcphub/config/internal/manual"
)

// TestGeneratedFilesAreFresh fails when a struct of package config changed and go generate was not run.
func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := manual.Files("../..", "../../..")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale; run: go generate ./config", path)
		}
	}
}
