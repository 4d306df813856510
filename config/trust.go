package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/internal/atomicfile"
)

// Trust is which files of projects and other clients may run programs: those whose content somebody has looked at and
// trusted. One that changes has to be trusted anew.
type Trust struct {
	path    string
	digests map[string]string // by absolute path
}

// ReadTrust reads the file at path, which need not be there. With path "" nothing is trusted.
func ReadTrust(path string) (*Trust, error) {
	t := &Trust{path: path, digests: map[string]string{}}
	if path == "" {
		return t, nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return t, nil
	case err == nil:
		err = json.Unmarshal(text, &t.digests)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the trusted files in %s: %w; remove it to trust nothing", path, err)
	}
	return t, nil
}

// Holds says whether a file is trusted with this content.
func (t *Trust) Holds(file string, content []byte) bool {
	return t.digests[absolute(file)] == digestOf(content)
}

// Add trusts a file with this content.
func (t *Trust) Add(file string, content []byte) { t.digests[absolute(file)] = digestOf(content) }

// Revoke trusts no file below dir any more, and returns those that it did.
func (t *Trust) Revoke(dir string) (files []string) {
	below := strings.TrimSuffix(absolute(dir), string(filepath.Separator)) + string(filepath.Separator)
	for _, file := range slices.Sorted(maps.Keys(t.digests)) {
		if strings.HasPrefix(file, below) {
			delete(t.digests, file)
			files = append(files, file)
		}
	}
	return files
}

// Save writes what is trusted.
func (t *Trust) Save() error {
	text, err := json.MarshalIndent(t.digests, "", "  ")
	if err == nil {
		err = atomicfile.Write(t.path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping the trusted files: %w", err)
	}
	return nil
}

// absolute is the name under which a file is trusted, however it was reached.
func absolute(file string) string {
	if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(dir, filepath.Base(file))
	}
	return file
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
