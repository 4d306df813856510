package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"mcphub/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for it")
	path := filepath.Join(dir, "file")
	for _, content := range []string{"first", "", "second"} {
		if err := atomicfile.Write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != content {
			t.Errorf("%q, %v; want %q", got, err, content)
		}
	}
	for name, want := range map[string]os.FileMode{path: 0o600, dir: 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if atomicfile.Write(filepath.Join(dir, "taken"), nil) == nil {
		t.Error("a directory was replaced")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("there are %v, %v", names, err)
	}
}
