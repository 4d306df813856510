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

// A file of somebody's own keeps its mode, and the link to it stays a link, also when it leads to nothing yet.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file, link, early := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "early")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o664); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{link: "file", early: "made/later"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.Replace(name, []byte("new")); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(name); got != to {
			t.Errorf("the link leads to %q, %v", got, err)
		}
	}
	for name, want := range map[string]os.FileMode{file: 0o664, filepath.Join(dir, "made", "later"): 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if got, _ := os.ReadFile(name); string(got) != "new" {
			t.Errorf("%s holds %q", name, got)
		}
	}
	circle := filepath.Join(dir, "circle")
	if err := os.Symlink("circle", circle); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Replace(circle, nil); err == nil {
		t.Error("a link to itself was written")
	}
	if err := atomicfile.Replace(dir, nil); err == nil {
		t.Error("a directory was replaced")
	}
}
