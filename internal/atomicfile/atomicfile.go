// Package atomicfile writes small files whole.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write gives the file at path this content: readers, and whoever looks after a crash, see the old content or the new one,
// never a part. The file behind a symbolic link is replaced, not the link. A new file and the directories that are made
// for it are their owner's alone; an old file keeps its mode.
func Write(path string, content []byte) error {
	target, err := behind(path)
	if err == nil {
		err = replace(target, content)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func replace(path string, content []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	err = errors.Join(err, part.Chmod(mode), part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return err
	}
	syncDir(dir)
	return nil
}

// maxLinks is how many symbolic links are followed one after the other, as on Linux.
const maxLinks = 40

// behind follows symbolic links to the file, which need not be there.
func behind(path string) (string, error) {
	for range maxLinks {
		next, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link: a file, or nothing yet
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", errors.New("too many symbolic links; name the file itself")
}

// syncDir makes a rename last. Where directories cannot be synced it has been done by other means.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
