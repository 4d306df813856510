package front

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcphub/hub"
)

// recordAge is how long the record of a session that nobody came back to after a restart is kept.
const recordAge = 24 * time.Hour

// store keeps what a session needs to go on in the hub's next process, a file for each. A client does not
// notice a restart then. The zero store keeps nothing.
type store struct{ dir string }

// record is a session at rest.
type record struct {
	Server  string    `json:"server,omitempty"` // of its door
	Scope   string    `json:"scope,omitempty"`
	Version string    `json:"version"`
	State   hub.State `json:"state"`
}

func (r record) door() hub.Door { return hub.Door{Server: r.Server, Scope: r.Scope} }

// path is the file of a session, "" for an id that the hub cannot have made.
func (st store) path(id string) string {
	if st.dir == "" || len(id) != 2*idBytes {
		return ""
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return filepath.Join(st.dir, id+".json")
}

// save writes a session's record whole: under another name, then renamed.
func (st store) save(s *session) error {
	path := st.path(s.id)
	if path == "" {
		return nil
	}
	text, err := json.Marshal(record{s.at.Server, s.at.Scope, s.client.Version, s.client.State()})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(st.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// load reads a session's record; ok is false where there is none.
func (st store) load(id string) (rec record, ok bool) {
	path := st.path(id)
	if path == "" {
		return rec, false
	}
	text, err := os.ReadFile(path)
	return rec, err == nil && json.Unmarshal(text, &rec) == nil
}

func (st store) remove(id string) {
	if path := st.path(id); path != "" {
		_ = os.Remove(path) // gone is what it should be
	}
}

// sweep removes the records of sessions that nobody came back to. Those that are open may be as old as they like.
func (st store) sweep(now time.Time, open func(id string) bool) {
	entries, _ := os.ReadDir(st.dir) // without the folder there is nothing to do
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		if info, err := e.Info(); err == nil && !open(id) && now.Sub(info.ModTime()) > recordAge {
			_ = os.Remove(filepath.Join(st.dir, e.Name()))
		}
	}
}
