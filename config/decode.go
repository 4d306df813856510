package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// decoder fills the package's structs from a syntax tree by their tags (see field), collecting problems on the way. What
// has a problem keeps its value, so one mistake does not hide the next.
type decoder struct {
	problems []Problem
	// at remembers where each member was written, by its path below the root struct, under its canonical name. Checks that
	// come later find their line here.
	at map[string]place
	// lenient says that the file is another program's, so that what is unknown is no mistake.
	lenient bool
}

func (d *decoder) errorf(at place, format string, args ...any) {
	d.problems = append(d.problems, at.problem(Error, format, args...))
}

func (d *decoder) warnf(at place, format string, args ...any) {
	d.problems = append(d.problems, at.problem(Warning, format, args...))
}

// object fills the struct v from a JSON object. key is where the struct stands below the root that d.at counts from.
func (d *decoder) object(val hujson.Value, at place, key string, v reflect.Value) {
	obj, ok := val.Value.(*hujson.Object)
	if !ok {
		d.errorf(at, "must be an object, like {…}, and is %s", kindName(val))
		return
	}
	fields := fieldsOf(v.Type())
	setBy := map[string]string{}
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		here := at.member(name, m.Name.StartOffset)
		f, inverse := findField(fields, name)
		if f == nil {
			d.unknown(here, name, v.Type(), fields)
			continue
		}
		if m.Value.Value.Kind() == 'n' {
			continue // null is written by programs for "not set"
		}
		if other, dup := setBy[f.name]; dup {
			d.errorf(here, "%s; keep one of them", setTwice(name, other))
			continue
		}
		setBy[f.name] = name
		here.off = m.Value.StartOffset
		d.field(f, m.Value, here, join(key, f.name), v.Field(f.index))
		if k := m.Value.Value.Kind(); inverse && (k == 't' || k == 'f') {
			v.Field(f.index).SetBool(k == 'f')
		}
	}
}

func setTwice(name, other string) string {
	if name == other {
		return "the key is there twice"
	}
	return fmt.Sprintf("%q and %q set the same thing", other, name)
}

func findField(fields []field, name string) (f *field, inverse bool) {
	for i := range fields {
		switch {
		case fields[i].name == name, slices.Contains(fields[i].aliases, name):
			return &fields[i], false
		case slices.Contains(fields[i].aliases, "!"+name):
			return &fields[i], true
		}
	}
	return nil, false
}

// field fills one field, and refuses what is not supported yet.
func (d *decoder) field(f *field, val hujson.Value, at place, key string, v reflect.Value) {
	d.at[key] = at
	d.value(f, val, at, key, v)
	if len(f.pending) == 0 {
		return
	}
	def := reflect.New(v.Type()).Elem()
	f.setDefault(def)
	switch {
	case f.allPending():
		if equalValues(v, def) || f.all && equalValues(v, reflect.ValueOf(everything)) {
			return
		}
		d.errorf(at, "%q is not supported yet; remove it%s", f.name, orDefault(f))
	case v.Kind() == reflect.String && slices.Contains(f.pending, v.String()):
		d.errorf(at, "%q is not supported yet; use %s", v.String(), orList(f.supportedEnum()))
	default:
		return
	}
	v.Set(def)
}

// orDefault offers the value that can be written, where a field has one.
func orDefault(f *field) string {
	if f.def == "" {
		return ""
	}
	return " or leave it at " + f.def
}

// equalValues compares, taking an empty list or map for an absent one.
func equalValues(a, b reflect.Value) bool {
	if k := a.Kind(); k == reflect.Slice || k == reflect.Map {
		return a.Len() == b.Len() && (a.Len() == 0 || reflect.DeepEqual(a.Interface(), b.Interface()))
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// value fills v, which may be a field, a list element or a map element.
func (d *decoder) value(f *field, val hujson.Value, at place, key string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		d.text(f, val, at, v)
	case reflect.Bool:
		if k := val.Value.Kind(); k != 't' && k != 'f' {
			d.errorf(at, "must be true or false, and is %s", kindName(val))
			return
		}
		v.SetBool(val.Value.Kind() == 't')
	case reflect.Int, reflect.Int64:
		d.number(f, val, at, v)
	case reflect.Slice:
		d.list(f, val, at, key, v)
	case reflect.Map:
		d.dict(f, val, at, key, v)
	case reflect.Struct:
		d.object(val, at, key, v)
	}
}

func (d *decoder) text(f *field, val hujson.Value, at place, v reflect.Value) {
	lit, _ := val.Value.(hujson.Literal)
	s := lit.String()
	if k := lit.Kind(); k != '"' && !((k == 't' || k == 'f') && slices.Contains(f.enum, s)) {
		if len(f.enum) > 0 {
			d.errorf(at, "must be %s, and is %s", orList(f.enum), kindName(val))
		} else {
			d.errorf(at, "must be a string, and is %s%s", kindName(val), inQuotes(k))
		}
		return
	}
	if meant, ok := f.same[s]; ok {
		s = meant
	}
	switch {
	case len(f.enum) > 0 && !slices.Contains(f.enum, s):
		d.errorf(at, "must be %s%s", orList(f.enum), didYouMean(s, f.enum, ""))
	case f.pattern != "" && !regexp.MustCompile("^(?:"+f.pattern+")$").MatchString(s):
		d.errorf(at, "may hold only characters of %s", strings.TrimSuffix(f.pattern, "*"))
	default:
		v.SetString(s)
	}
}

func (d *decoder) number(f *field, val hujson.Value, at place, v reflect.Value) {
	lit, _ := val.Value.(hujson.Literal)
	if lit.Kind() != '0' {
		d.errorf(at, "must be a number, and is %s", kindName(val))
		return
	}
	n, err := strconv.ParseFloat(string(lit), 64)
	fraction := f.unit.Minutes() >= 1
	lo, hi := bound(f.min, math.MinInt64), bound(f.max, math.MaxInt64)
	switch {
	case err != nil || n != math.Trunc(n) && !fraction:
		d.errorf(at, "must be a whole number%s", unitName(f))
	case n < lo:
		d.errorf(at, "must be at least %s%s", f.min, unitName(f))
	case n > hi:
		d.errorf(at, "must be at most %s%s", f.max, unitName(f))
	default:
		v.SetInt(int64(n * float64(max(1, f.unit))))
	}
}

func bound(tag string, otherwise float64) float64 {
	if n, err := strconv.ParseFloat(tag, 64); err == nil {
		return n
	}
	return otherwise
}

func unitName(f *field) string {
	switch {
	case f.unit.Minutes() >= 1:
		return " (minutes)"
	case f.unit > 0:
		return " (milliseconds)"
	}
	return ""
}

func (d *decoder) list(f *field, val hujson.Value, at place, key string, v reflect.Value) {
	if f.all && (val.Value.Kind() == 't' || val.Value.Kind() == 'f') {
		v.SetZero()
		if val.Value.Kind() == 't' {
			v.Set(reflect.ValueOf(slices.Clone(everything)))
		}
		return
	}
	arr, ok := val.Value.(*hujson.Array)
	if !ok {
		d.errorf(at, "must be a list, like […], and is %s", kindName(val))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(arr.Elements), len(arr.Elements))
	for i, e := range arr.Elements {
		here, below := at.element(i, e.StartOffset), key+"["+strconv.Itoa(i)+"]"
		d.at[below] = here
		if out.Index(i).Kind() == reflect.Struct {
			setDefaults(out.Index(i))
		}
		d.value(f, e, here, below, out.Index(i))
	}
	v.Set(out)
	if globs, ok := v.Interface().(Globs); ok {
		d.checkGlobs(globs, key)
	}
}

func (d *decoder) dict(f *field, val hujson.Value, at place, key string, v reflect.Value) {
	obj, ok := val.Value.(*hujson.Object)
	if !ok {
		d.errorf(at, "must be an object, like {…}, and is %s", kindName(val))
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		here, below := at.member(name, m.Value.StartOffset), join(key, name)
		d.at[below] = here
		if out.MapIndex(reflect.ValueOf(name)).IsValid() {
			here.off = m.Name.StartOffset
			d.errorf(here, "the key is there twice; keep one of them")
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		switch {
		case elem.Type() == reflect.TypeFor[json.RawMessage]():
			elem.SetBytes(pack(m.Value))
		case elem.Kind() == reflect.Struct:
			setDefaults(elem)
			d.object(m.Value, here, below, elem)
		default:
			d.value(&field{}, m.Value, here, below, elem)
		}
		out.SetMapIndex(reflect.ValueOf(name), elem)
	}
	v.Set(out)
}

// pack returns a value as plain JSON without comments and spaces.
func pack(val hujson.Value) []byte {
	val = val.Clone()
	val.Minimize()
	return val.Pack()
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func kindName(val hujson.Value) string {
	switch val.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	}
	return string(val.Value.(hujson.Literal)) // null, true or false
}

// inQuotes advises those who wrote a number or a word where a string goes.
func inQuotes(k hujson.Kind) string {
	if k == '0' || k == 't' || k == 'f' {
		return "; put it in quotes"
	}
	return ""
}

// orList words a choice: "a", "b" or "c".
func orList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
		if v == "true" || v == "false" {
			quoted[i] = v
		}
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
