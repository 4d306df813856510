package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// envWithin names the variable in which a hub's programs find by which configurations the hubs above them run. Hubs hand it
// to their programs.
const envWithin = "MCPHUB_WITHIN"

// enter refuses a hub that is a program of a hub with the same configuration: it would start itself for ever.
func enter(files []string) error {
	sum := sha256.New()
	for _, file := range files {
		whole, err := filepath.Abs(file)
		if err != nil {
			whole = file
		}
		sum.Write([]byte(whole + "\x00"))
	}
	own := hex.EncodeToString(sum.Sum(nil)[:8])
	above := strings.Fields(os.Getenv(envWithin))
	if slices.Contains(above, own) {
		return errors.New("a hub with this configuration has started this one, and would again: one of its servers runs mcphub with the same --config; remove that server")
	}
	return os.Setenv(envWithin, strings.Join(append(above, own), " "))
}
