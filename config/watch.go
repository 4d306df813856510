package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	watchQuiet = 200 * time.Millisecond // without a change, until a storm of them counts as over
	watchMost  = 2 * time.Second        // that a storm may last before it is looked at all the same
)

// Watcher sees files change. It watches their directories, so that it also sees files that are replaced by a rename, that
// come to be, and that are reached by a link which is turned.
type Watcher struct {
	notify  *fsnotify.Watcher
	changed func()
	done    chan struct{}

	mu    sync.Mutex // guards seen
	seen  map[string]digest
	again chan struct{} // other files are to be watched; holds one token
}

// NewWatcher watches the files that a configuration was made from. It calls changed once after each storm of changes that
// left some of them with another content. The calls come one after the other. Close ends it.
func NewWatcher(of *Config, changed func()) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &Watcher{notify: notify, changed: changed, done: make(chan struct{}), again: make(chan struct{}, 1)}
	w.Watch(of)
	go w.run()
	return w, nil
}

// Watch watches the files of another configuration in place of the earlier ones.
func (w *Watcher) Watch(of *Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = maps.Clone(of.digests)
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// Close ends the watching. It must not be called from changed.
func (w *Watcher) Close() {
	_ = w.notify.Close() // which ends run
	<-w.done
}

func (w *Watcher) run() {
	defer close(w.done)
	var quiet <-chan time.Time // nil while nothing happens
	var began time.Time
	for {
		select {
		case _, open := <-w.notify.Events:
			if !open {
				return
			}
			if quiet == nil {
				began = time.Now()
			}
			quiet = time.After(min(watchQuiet, max(watchMost-time.Since(began), 0)))
		case _, open := <-w.notify.Errors: // events may be lost, so it is time to look
			if !open {
				return
			}
			quiet = time.After(watchQuiet)
		case <-w.again:
			w.look()
			quiet = time.After(watchQuiet)
		case <-quiet:
			quiet = nil
			w.look()
			if w.differs() {
				w.changed()
			}
		}
	}
}

func (w *Watcher) watched() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sortedKeys(w.seen)
}

// look watches the directories that the files are in now, by their names and behind their links.
func (w *Watcher) look() {
	var dirs []string
	for _, file := range w.watched() {
		if file == "" {
			continue
		}
		dirs = append(dirs, nearest(filepath.Dir(file)))
		if real, err := filepath.EvalSymlinks(file); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
		for at := filepath.Dir(file); at != filepath.Dir(at); at = filepath.Dir(at) {
			if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
				dirs = append(dirs, filepath.Dir(at)) // where that link is turned
			}
		}
	}
	for _, old := range w.notify.WatchList() {
		if !slices.Contains(dirs, old) {
			_ = w.notify.Remove(old) // it may be gone, which ends the watching too
		}
	}
	for _, dir := range dirs {
		_ = w.notify.Add(dir) // one that cannot be watched is looked at when others change
	}
}

// nearest is the directory itself, or of those above it the next one that is there.
func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// differs says whether some file holds other than it did, and notes what it holds.
func (w *Watcher) differs() bool {
	now := map[string]digest{}
	for _, file := range w.watched() {
		now[file] = holds(file)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	other := false
	for file, was := range w.seen {
		if is, looked := now[file]; looked && is != was {
			w.seen[file], other = is, true
		}
	}
	return other
}

// holds is the digest of a file, or of a directory's list.
func holds(path string) digest {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		_, held := listDir(path)
		return held
	}
	return digestOf(readFile(path))
}
