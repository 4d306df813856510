package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tailscale/hujson"

	"mcphub/internal/atomicfile"
)

var (
	// ErrNoServer says that the file has no entry of that name.
	ErrNoServer = errors.New("there is no such server")
	// ErrServerExists says that the file has an entry of that name already.
	ErrServerExists = errors.New("the server exists already")
)

// RefusedError says that an edit would make an entry that cannot run, and that nothing was written.
type RefusedError struct {
	// Problems are the errors that the edit would add to the file. Their lines are those of the text that was not written.
	Problems []Problem
}

// Error lists the problems, one a line.
func (e *RefusedError) Error() string {
	var b strings.Builder
	b.WriteString("nothing was changed, since it would not work:")
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n  %s: %s", p.Path, p.Message)
	}
	return b.String()
}

// SetServer puts the entry of that name, a JSON object as it stands in a file, at the end of a configuration file's
// servers. With replace it takes the place of an entry of that name; without, that is ErrServerExists. What else is in the
// file stays byte for byte; comments inside entry are left out. A file that does not exist is made, for its owner alone.
//
// The result is checked before it is written: an edit that adds errors to the file is a *RefusedError and changes nothing.
// Variables that are not set do not count, since the hub may have them.
func SetServer(path, name string, entry []byte, replace bool) error {
	_, value, err := parseSource("the entry", entry)
	if err != nil {
		return err
	}
	return edit(path, true, func(d *document) ([]splice, error) { return d.set(name, value, replace) })
}

// RemoveServer takes an entry out of a configuration file. A comment on the entry's own lines goes with it; comments above
// it stay, since they may be about more. It returns ErrNoServer, and fs.ErrNotExist where there is no file.
func RemoveServer(path, name string) error {
	return edit(path, false, func(d *document) ([]splice, error) { return d.remove(name) })
}

// SetEnabled switches an entry on or off by whichever of "enabled" and "disabled" it has; where it has neither, "enabled"
// is added to switch it off. Errors are those of RemoveServer.
func SetEnabled(path, name string, on bool) error {
	return edit(path, false, func(d *document) ([]splice, error) { return d.enable(name, on) })
}

// ServerNames lists the entries that a configuration file has, in their order. A file that does not exist has none.
func ServerNames(path string) ([]string, error) {
	d, err := openDocument(path, true)
	if err != nil {
		return nil, err
	}
	return d.names(), nil
}

// edit works out the splices, checks what would come of them, and writes it.
func edit(path string, create bool, change func(*document) ([]splice, error)) error {
	defer lock(path)()
	d, text, err := plan(path, create, change)
	if err != nil || bytes.Equal(text, d.text) {
		return err
	}
	err = atomicfile.Replace(path, append(d.bom, text...))
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("writing configuration: %w; a file that is mounted by itself cannot be replaced: mount its directory", err)
	case err != nil:
		return fmt.Errorf("writing configuration: %w", err)
	}
	return nil
}

// lock keeps other edits away from the files of a directory, so that none undoes another, until the function it returns is
// called. Where the directory is not there yet, or knows no locks, it does nothing.
func lock(path string) (unlock func()) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return func() {}
	}
	_ = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
	return func() { _ = dir.Close() }
}

// plan returns the document and its text after the change, which adds no errors.
func plan(path string, create bool, change func(*document) ([]splice, error)) (*document, []byte, error) {
	d, err := openDocument(path, create)
	if err != nil {
		return nil, nil, err
	}
	splices, err := change(d)
	if err != nil {
		return nil, nil, err
	}
	text := apply(d.text, splices)
	return d, text, addsErrors(path, d.text, text)
}

// addsErrors compares the errors before and after an edit.
func addsErrors(name string, before, after []byte) error {
	was, err := Parse(name, before, os.LookupEnv)
	if err != nil {
		return err
	}
	is, err := Parse(name, after, os.LookupEnv)
	if err != nil {
		return err
	}
	known := map[[2]string]int{}
	for _, p := range was.Problems {
		known[[2]string{p.Path, p.Message}]++
	}
	var added []Problem
	for _, p := range is.Problems {
		key := [2]string{p.Path, p.Message}
		if known[key]--; known[key] < 0 && p.Severity == Error && !strings.HasPrefix(p.Message, notSet) {
			added = append(added, p)
		}
	}
	if added != nil {
		return &RefusedError{added}
	}
	return nil
}

// newDocument is what a file that is made by the first edit starts from.
const newDocument = "{\n  \"mcpServers\": {}\n}\n"

// document is a configuration file about to be edited.
type document struct {
	path string
	bom  []byte // of an editor that writes one
	text []byte // the rest
	root hujson.Value
}

func openDocument(path string, create bool) (*document, error) {
	data, err := readFile(path)
	switch {
	case create && errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; is it another file? --config names it", err)
	case err != nil:
		return nil, err
	}
	d := &document{path: path}
	text, hasBOM := bytes.CutPrefix(data, []byte("\ufeff"))
	if hasBOM {
		d.bom = []byte("\ufeff")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(newDocument)
	}
	d.text = text
	_, d.root, err = parseSource(path, text)
	if err != nil {
		return nil, err
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf(`reading %s: must be an object, like {"mcpServers": {…}}, and is %s`, path, kindName(d.root))
	}
	return d, nil
}

// servers is the member with the entries, by either of its names, or nil.
func (d *document) servers() *hujson.ObjectMember {
	obj := d.root.Value.(*hujson.Object)
	for i, m := range obj.Members {
		if name := memberName(m); name == "mcpServers" || name == "servers" {
			return &obj.Members[i]
		}
	}
	return nil
}

// members are the entries, and nil when there is no object of them.
func (d *document) members() []hujson.ObjectMember {
	if m := d.servers(); m != nil {
		if obj, ok := m.Value.Value.(*hujson.Object); ok {
			return obj.Members
		}
	}
	return nil
}

func (d *document) names() []string {
	var names []string
	for _, m := range d.members() {
		names = append(names, memberName(m))
	}
	return names
}

// find returns the index of an entry, or -1.
func (d *document) find(name string) (int, error) {
	found := -1
	for i, have := range d.names() {
		if have != name {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%s has the server %q twice; remove one of them in an editor", d.path, name)
		}
		found = i
	}
	return found, nil
}

// mustFind is find for those who need the entry.
func (d *document) mustFind(name string) (int, error) {
	i, err := d.find(name)
	if err == nil && i < 0 {
		err = fmt.Errorf("%w: %s has no %q%s", ErrNoServer, d.path, name, didYouMean(name, d.names(), ""))
	}
	return i, err
}

func (d *document) set(name string, entry hujson.Value, replace bool) ([]splice, error) {
	i, err := d.find(name)
	switch {
	case err != nil:
		return nil, err
	case i >= 0 && !replace:
		return nil, fmt.Errorf("%w: %s has a %q; --replace puts the new one in its place", ErrServerExists, d.path, name)
	case i >= 0:
		return d.replaceValue(d.members()[i], entry), nil
	}
	m := d.servers()
	if m == nil {
		return d.insert(d.root, "mcpServers", objectOf(name, entry)), nil
	}
	switch m.Value.Value.Kind() {
	case '{':
		return d.insert(m.Value, name, entry), nil
	case 'n':
		return d.replaceValue(*m, objectOf(name, entry)), nil
	}
	return nil, fmt.Errorf("reading %s: %s must be an object of servers by name, and is %s", d.path, memberName(*m), kindName(m.Value))
}

func (d *document) remove(name string) ([]splice, error) {
	i, err := d.mustFind(name)
	if err != nil {
		return nil, err
	}
	return d.cut(d.servers().Value, i), nil
}

func (d *document) enable(name string, on bool) ([]splice, error) {
	i, err := d.mustFind(name)
	if err != nil {
		return nil, err
	}
	entry := d.members()[i].Value
	obj, ok := entry.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("reading %s: %q must be an object, like {…}, and is %s", d.path, name, kindName(entry))
	}
	var splices []splice
	for _, m := range obj.Members {
		switch memberName(m) {
		case "enabled":
			splices = append(splices, d.replaceValue(m, literal(on))...)
		case "disabled":
			splices = append(splices, d.replaceValue(m, literal(!on))...)
		}
	}
	if splices == nil && !on {
		splices = d.insert(entry, "enabled", literal(false))
	}
	return splices, nil
}

func memberName(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

func literal(b bool) hujson.Value { return hujson.Value{Value: hujson.Bool(b)} }

func objectOf(name string, value hujson.Value) hujson.Value {
	return hujson.Value{Value: &hujson.Object{Members: []hujson.ObjectMember{{Name: hujson.Value{Value: hujson.String(name)}, Value: value}}}}
}
