// Package atomicfile writes small files whole.
package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write gives the file at path this content: readers, and whoever looks after a crash, see the old content or the new one,
// never a part. The file and the directories that are made for it are its owner's alone.
func Write(path string, content []byte) error {
	return write(path, content, func(*os.File) error { return nil })
}

// Replace is Write for a file that is somebody's own: a symbolic link stays and what it leads to is written, and a file
// that exists keeps its mode and, where that is permitted, its owner. One that may not be written is not.
func Replace(path string, content []byte) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	old, err := os.OpenFile(path, os.O_WRONLY, 0)
	if os.IsNotExist(err) {
		return Write(path, content)
	}
	if err != nil {
		return err
	}
	info, err := old.Stat()
	if closeErr := old.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return write(path, content, func(f *os.File) error {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(stat.Uid), int(stat.Gid)) // others may not give files away
		}
		return f.Chmod(info.Mode().Perm())
	})
}

// maxLinks ends a chase after links that lead in a circle.
const maxLinks = 40

// target follows links, also to a file that does not exist yet.
func target(path string) (string, error) {
	for range maxLinks {
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or not there
		}
		if !filepath.IsAbs(link) {
			link = filepath.Dir(path) + "/" + link // uncleaned: .. of a directory that is a link is not its parent here
		}
		path = link
	}
	return "", &fs.PathError{Op: "readlink", Path: path, Err: syscall.ELOOP}
}

// write makes the new file beside the old one and renames it. prepare sees it while it has the other name.
func write(path string, content []byte, prepare func(*os.File) error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = prepare(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
