package config

import "strings"

// Place is where something stands in a configuration file.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
	Path string `json:"path"` // JSON path like mcpServers.github.excludeTools[0]
}

// Place is where a field of the entry was written, by its canonical name: "enabled", "excludeTools[0]", "tools.echo.enabled".
// Of a field that was not written it is where the entry stands.
func (s *Server) Place(key string) Place {
	if at, ok := s.places[key]; ok {
		return at
	}
	return s.places[""]
}

// keepPlaces remembers in the server where its fields were written.
func (e *entry) keepPlaces() {
	e.server.places = map[string]Place{"": e.place.public()}
	for key, at := range e.at {
		e.server.places[key] = at.public()
	}
}

func (p place) public() Place {
	line, _ := p.src.position(p.off)
	return Place{File: p.src.name, Line: line, Path: p.path}
}

// Nearest is the one of the known words that word may be a misspelling of, "" where none is near.
func Nearest(word string, known []string) string {
	best, distance := "", max(1, len(word)/3)+1
	for _, k := range known {
		if n := editDistance(strings.ToLower(word), strings.ToLower(k)); n < distance {
			best, distance = k, n
		}
	}
	if distance >= len(word) {
		return ""
	}
	return best
}
