package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"mcphub/internal/atomicfile"
)

// digest is what a path held: the SHA-256 of the file's text, all zero when there was nothing to read.
type digest [sha256.Size]byte

// digestOf is the digest of what was read.
func digestOf(data []byte, err error) digest {
	if err != nil {
		return digest{}
	}
	return sha256.Sum256(data)
}

// Trust remembers which files of projects may run programs, by what they held when the user said so. A nil Trust trusts
// nothing.
type Trust struct {
	path  string
	files map[string]string // path → SHA-256 in hexadecimal digits
	held  digest            // of the file itself
}

// trustFile is the shape of trust.json.
type trustFile struct {
	Files map[string]string `json:"files"`
}

// LoadTrust reads trust.json. No file trusts nothing. With an error the Trust is there all the same, and trusts nothing.
func LoadTrust(path string) (*Trust, error) {
	t := &Trust{path: path, files: map[string]string{}}
	data, err := readFile(path)
	t.held = digestOf(data, err)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	var file trustFile
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return t, fmt.Errorf("reading %s: %w; remove it and say mcphub trust again", path, err)
	}
	for name, sum := range file.Files {
		t.files[name] = sum
	}
	return t, nil
}

// Trusts reports whether the file may run what it names. It may not once its content is another.
func (t *Trust) Trusts(path string, content []byte) bool {
	return t != nil && t.files[path] != "" && t.files[path] == hexDigest(content)
}

// Add trusts a file, by its absolute path, as long as it has this content.
func (t *Trust) Add(path string, content []byte) { t.files[path] = hexDigest(content) }

// Revoke forgets every file in a directory and those below it, and returns their paths, sorted.
func (t *Trust) Revoke(dir string) []string {
	var gone []string
	for _, path := range sortedKeys(t.files) {
		if strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator)) {
			delete(t.files, path)
			gone = append(gone, path)
		}
	}
	return gone
}

// Save writes trust.json whole, readable by its owner only.
func (t *Trust) Save() error {
	text, err := json.MarshalIndent(trustFile{t.files}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(t.path, append(text, '\n'))
}

func hexDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
