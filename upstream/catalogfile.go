package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// catalogFile keeps a server's offer over restarts of the hub, so that lists, search and describe answer with no server
// running. Whoever has its server's turn to list may use it, nobody else.
type catalogFile struct {
	path string // "" keeps nothing
	kept string // the digest of what the file holds; "" where that is of no use
}

// The file is one line with the format and the digest of the rest, one line of JSON with everything but the raw parts and
// how long those are, and then the raw parts one behind the other: what servers have sent stays as it came.
const catalogFormat = "mcphub catalog 1 "

type catalogHead struct {
	Version  string           `json:"version"`
	TTL      map[string]int64 `json:"ttl"`
	Notes    []string         `json:"notes"`
	Greeting int              `json:"greeting"`
	Lists    [4][]int         `json:"lists"`
}

// lists are the raw lists of an offer, in the order of the file.
func (o *Offer) lists() [4]*[][]byte {
	return [4]*[][]byte{&o.Tools, &o.Resources, &o.Templates, &o.Prompts}
}

var errDamaged = errors.New("the file is damaged")

// encodeOffer writes an offer as the file holds it, behind the first line.
func encodeOffer(o *Offer) []byte {
	head := catalogHead{Version: o.Version, TTL: o.TTL, Notes: o.Notes, Greeting: len(o.Greeting)}
	size := len(o.Greeting)
	for i, items := range o.lists() {
		for _, item := range *items {
			head.Lists[i] = append(head.Lists[i], len(item))
			size += len(item)
		}
	}
	out, err := json.Marshal(head)
	if err != nil {
		panic(err) // strings and numbers are always JSON
	}
	out = append(append(make([]byte, 0, len(out)+1+size), out...), '\n')
	out = append(out, o.Greeting...)
	for _, items := range o.lists() {
		for _, item := range *items {
			out = append(out, item...)
		}
	}
	return out
}

// decodeOffer reads what encodeOffer has written. The raw parts stay parts of text.
func decodeOffer(text []byte) (*Offer, error) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	var head catalogHead
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, errDamaged
	}
	take := func(n int) []byte {
		if n < 0 || n > len(rest) {
			rest = nil
			return nil
		}
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	o := &Offer{Version: head.Version, TTL: head.TTL, Notes: head.Notes, Greeting: take(head.Greeting)}
	for i, items := range o.lists() {
		for _, n := range head.Lists[i] {
			*items = append(*items, take(n))
		}
	}
	return o, nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// load reads the offer; nil where there is none. The error says what is wrong with a file that is there.
func (f *catalogFile) load() (*Offer, error) {
	if f.path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	digest := digestOf(rest)
	if string(line) != catalogFormat+digest {
		return nil, errDamaged
	}
	o, err := decodeOffer(rest)
	if err != nil {
		return nil, err
	}
	f.kept = digest
	if info, err := os.Stat(f.path); err == nil && time.Since(info.ModTime()) > catalogTouch {
		now := time.Now()
		_ = os.Chtimes(f.path, now, now) // it only lives shorter where this fails
	}
	return o, nil
}

// store writes an offer that was read whole, where the file does not hold it already.
func (f *catalogFile) store(o *Offer) error {
	if f.path == "" || o.partial {
		return nil
	}
	text := encodeOffer(o)
	digest := digestOf(text)
	if digest == f.kept {
		return nil
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(dir, "*"+catalogPart) // of mode 0600
	if err != nil {
		return err
	}
	_, err = part.Write(append([]byte(catalogFormat+digest+"\n"), text...))
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return err
	}
	f.kept = digest
	return nil
}

const (
	catalogSuffix = ".catalog"
	catalogPart   = ".part"
	catalogAge    = 30 * 24 * time.Hour // a file that no server has used for so long is removed
	catalogTouch  = 24 * time.Hour      // how exactly it is known when a file was used
	catalogsMost  = 10_000              // files that are looked at
)

// SweepCatalogs removes the files in a CatalogDir that no server has used for 30 days. Call it once the servers are made.
func SweepCatalogs(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return // there are none yet
	}
	defer d.Close()
	files, _ := d.ReadDir(catalogsMost) // what could be read is looked at
	for _, file := range files {
		if ext := filepath.Ext(file.Name()); ext != catalogSuffix && ext != catalogPart {
			continue
		}
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > catalogAge {
			_ = os.Remove(filepath.Join(dir, file.Name()))
		}
	}
}

// recall publishes the offer that the server's file holds.
func recall(s *Server) {
	if s.opt.CatalogDir == "" {
		return
	}
	s.file.path = filepath.Join(s.opt.CatalogDir, s.cfg.Digest()+catalogSuffix)
	offer, err := s.file.load()
	if err != nil {
		s.opt.Log.Warn().Str("server", s.cfg.Name).Str("file", s.file.path).Err(err).Msg("the kept catalog cannot be read; it is made anew")
	}
	if offer != nil {
		s.offer.Store(offer)
		s.settle()
	}
}

// refit brings the known offer into line with a new connection before anybody uses that: answers are translated by the
// offer's version.
func refit(s *Server, conn *Conn) {
	old := s.offer.Load()
	if old == nil || old.Version == conn.Version() && bytes.Equal(old.Greeting, conn.Greeting) {
		return
	}
	now := *old
	now.Version, now.Greeting = conn.Version(), conn.Greeting
	s.offer.Store(&now)
	s.opt.changed(s)
}
