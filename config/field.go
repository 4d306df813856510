package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// field is what the struct tags of one field say. They are the one place where the file's shape stands:
//
//	json       name in the file; "-" for what is not in the file
//	alias      other names for it; one that starts with ! has the opposite meaning (disabled for enabled)
//	default    value when left out, as it would be written in the file, strings without quotes
//	enum       allowed values, for lists of each element; true and false may be written without quotes
//	same       other spellings of enum values, as written=meant
//	min, max   bounds of a number, in the unit of the file
//	unit       ms or min: the number is a duration
//	pattern    regular expression for the whole string
//	expand     env: ${VAR} and ${VAR:-default} are replaced from the hub's environment
//	pending    values that are refused as not supported yet: a list, or * for all but the default.
//	           Making a field work is deleting this tag
//	all        true: the list may be written as true, which means ["*"]; pending:"*" lets that through
type field struct {
	index    int
	name     string
	aliases  []string
	def      string
	enum     []string
	same     map[string]string
	min, max string
	unit     time.Duration
	pattern  string
	expand   bool
	pending  []string
	all      bool
}

var fieldCache sync.Map // reflect.Type of a struct → []field

// fieldsOf reads the tags of a struct type.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if name := tag.Get("json"); name != "" && name != "-" {
			fields = append(fields, newField(i, name, tag))
		}
	}
	fieldCache.Store(t, fields)
	return fields
}

func newField(index int, name string, tag reflect.StructTag) field {
	f := field{
		index:   index,
		name:    name,
		aliases: list(tag.Get("alias")),
		def:     tag.Get("default"),
		enum:    list(tag.Get("enum")),
		min:     tag.Get("min"),
		max:     tag.Get("max"),
		pattern: tag.Get("pattern"),
		expand:  tag.Get("expand") != "",
		pending: list(tag.Get("pending")),
		all:     tag.Get("all") != "",
	}
	switch tag.Get("unit") {
	case "ms":
		f.unit = time.Millisecond
	case "min":
		f.unit = time.Minute
	}
	for _, pair := range list(tag.Get("same")) {
		written, meant, _ := strings.Cut(pair, "=")
		if f.same == nil {
			f.same = map[string]string{}
		}
		f.same[written] = meant
	}
	return f
}

func list(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

// allPending reports whether only the default is supported.
func (f *field) allPending() bool { return slices.Equal(f.pending, []string{"*"}) }

// supportedEnum returns the values of an enum that can be used now.
func (f *field) supportedEnum() []string {
	var values []string
	for _, v := range f.enum {
		if !slices.Contains(f.pending, v) {
			values = append(values, v)
		}
	}
	return values
}

// setDefaults fills a struct, and the structs in it, with the defaults of its tags.
func setDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		f.setDefault(v.Field(f.index))
	}
}

// setDefault gives one field its default. A tag that does not fit its field's type is a mistake in this package, which
// every test meets, hence the ignored errors.
func (f *field) setDefault(v reflect.Value) {
	v.SetZero()
	switch {
	case v.Kind() == reflect.Struct:
		setDefaults(v)
	case f.def == "":
	case v.Kind() == reflect.String:
		v.SetString(f.def)
	case v.Kind() == reflect.Bool:
		v.SetBool(f.def == "true")
	default:
		n, _ := strconv.ParseInt(f.def, 10, 64)
		v.SetInt(n * max(1, int64(f.unit)))
	}
}
