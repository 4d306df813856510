package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	upperName    = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`) // as variables are named, unlike tokens
)

// notSet begins the problem of variables that are missing, which an edit overlooks: the hub may have them.
const notSet = "not set in the hub's environment: "

// expander replaces ${VAR} in the fields of one server that carry the expand tag, and in no others.
type expander struct {
	*entry
	env     func(string) (string, bool)
	dry     bool
	missing []missing
	values  []string // what variables of headers, env and url stood for
}

// missing is a variable that is not set, and the field that names it.
type missing struct{ variable, key string }

// expand works through all fields and reports every missing variable at once. Without env it reports what could never be
// expanded, and changes nothing.
func (e *entry) expand(env func(string) (string, bool)) {
	x := &expander{entry: e, env: env}
	if env == nil {
		x.dry, x.env = true, func(string) (string, bool) { return "", true }
	}
	v := reflect.ValueOf(e.server).Elem()
	for _, f := range fieldsOf(v.Type()) {
		if f.expand {
			x.value(f.name, v.Field(f.index))
		}
	}
	x.bearer()
	if len(x.missing) > 0 {
		e.errorf(e.placeOf(x.missing[0].key), notSet+"%s; set what is missing, or write ${NAME:-default}", x.list())
	}
	e.server.Secrets = append(e.server.Secrets, x.values...)
}

// list names each missing variable with its field.
func (x *expander) list() string {
	var parts []string
	for _, m := range x.missing {
		parts = append(parts, fmt.Sprintf("%s (%s)", m.variable, m.key))
	}
	return strings.Join(parts, ", ")
}

func (x *expander) value(key string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		before := len(x.missing) + len(x.problems)
		v.SetString(x.text(key, v.String(), key == "url"))
		x.urlUnknown = x.urlUnknown || key == "url" && (len(x.missing)+len(x.problems) > before || x.dry && strings.Contains(v.String(), "${"))
	case reflect.Slice:
		for i := range v.Len() {
			v.Index(i).SetString(x.text(key+"["+strconv.Itoa(i)+"]", v.Index(i).String(), false))
		}
	case reflect.Map:
		texts := v.Interface().(map[string]string)
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			texts[name] = x.text(join(key, name), texts[name], true)
		}
	}
}

// text expands one string, or leaves it as it is when that is impossible. secret says that what its variables stand for must not leave the hub.
func (x *expander) text(key, s string, secret bool) string {
	before := len(x.missing)
	out, err := expandText(s, func(name string) string {
		value, ok := x.env(name)
		switch {
		case !ok:
			x.missing = append(x.missing, missing{name, key})
		case secret && !x.dry && !slices.Contains(commonVariables, name):
			x.values = append(x.values, value)
		}
		return value
	}, x.env)
	if err != nil {
		x.errorf(x.placeOf(key), "%s", err)
	}
	if err != nil || x.dry || len(x.missing) > before {
		return s
	}
	return out
}

// commonVariables are in everybody's environment and no secrets.
var commonVariables = []string{
	"PATH", "HOME", "LANG", "PWD", "SHELL", "TERM", "TMPDIR", "USER",
	"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "SKILL_DIR",
}

// expandText replaces ${NAME} and ${NAME:-default}, where the default stands in for an unset or empty variable as in a
// shell. ${env:NAME}, as VS Code writes it, is ${NAME}; $${ is a literal ${; a $ without a brace is itself.
func expandText(s string, value func(name string) string, env func(string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			out.WriteString(s)
			return out.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			out.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		out.WriteString(s[:i])
		body, rest, ok := strings.Cut(s[i+2:], "}")
		if !ok {
			return "", errors.New("a ${ has no }; close it, or write $${ for a literal ${")
		}
		s = rest
		name, def, hasDefault := strings.Cut(strings.TrimPrefix(body, "env:"), ":-")
		switch {
		case strings.HasPrefix(body, "input:"):
			return "", errors.New("${input:…} makes VS Code ask its user, which a hub cannot; put the value in a variable and write ${VARIABLE}")
		case !variableName.MatchString(name):
			return "", errors.New("${…} must hold a variable's name (letters, digits, '_'); write $${ for a literal ${")
		case strings.Contains(def, "${"):
			return "", fmt.Errorf("the default of ${%s} cannot hold another ${; write the value", name)
		}
		if v, _ := env(name); hasDefault && v == "" {
			out.WriteString(def)
		} else {
			out.WriteString(value(name))
		}
	}
}

// bearer looks up the token that bearerTokenEnv names.
func (x *expander) bearer() {
	name := x.server.BearerTokenEnv
	if name == "" || x.server.Type == TypeStdio || x.server.Auth == AuthNone {
		return
	}
	at := x.placeOf("bearerTokenEnv")
	if !variableName.MatchString(name) || knownSecret.MatchString(name) {
		x.errorf(at, "must be the name of a variable, not the token itself; put the token in a variable")
		return
	}
	if x.dry {
		return
	}
	token, ok := x.env(name)
	token = strings.TrimSpace(token)
	switch {
	case !ok && !upperName.MatchString(name):
		x.errorf(at, "names no variable that is set; put the token in a variable and its name here (not repeated, in case it is the token)")
	case !ok:
		x.missing = append(x.missing, missing{name, "bearerTokenEnv"})
	case token == "":
		x.errorf(at, "the variable %s is empty; put the token in it", name)
	case !headerValue(token):
		x.errorf(at, "the variable %s holds control characters; put the bare token in it", name)
	default:
		x.server.BearerToken = token
		x.values = append(x.values, token)
	}
}
