package config

import (
	"reflect"
	"strings"
)

// Equal reports whether two entries mean the same, so that a reload can leave the server alone. Values of ${VAR} and of
// the bearer token count; the place in the file does not.
func (s *Server) Equal(o *Server) bool {
	a, b := *s, *o
	a.File, a.Line, a.Failed, a.places = "", 0, nil, nil
	b.File, b.Line, b.Failed, b.places = "", 0, nil, nil
	return s.Reason() == o.Reason() && reflect.DeepEqual(a, b)
}

// Reason says in one line why the entry has failed, naming the field of each error; "" when it can run.
func (s *Server) Reason() string {
	var parts []string
	for _, p := range s.Failed {
		parts = append(parts, p.Path+": "+p.Message)
	}
	return strings.Join(parts, "; ")
}
