package housetest

import (
	"slices"
	"strings"
	"testing"
)

// module is the path that imports of our own packages begin with.
const module = "mcphub/"

// room is one line of the table of rooms in ARCHITECTURE.md.
type room struct {
	sentence string
	may      []string          // rooms it may import: below it in the diagram
	never    map[string]string // packages it may not import, with the reason
}

const (
	noHTTP    = "it neither listens nor dials: whoever has bytes can use it, and tests need no network"
	noExec    = "only upstream runs programs, so only there children can leak"
	noRouter  = "routes belong to the doors, front and admin"
	noPayload = "what may leave is decided once, in hub, before an answer reaches the doors"
	noLogin   = "upstream says which credentials it needs by an interface of its own; cmd passes the store in"
	noClients = "it knows servers, not clients: a call comes with all it needs"
)

var rooms = map[string]room{
	"wire": {
		sentence: "Package wire reads and writes JSON-RPC messages without decoding what they carry.",
		never:    map[string]string{"net/http": noHTTP},
	},
	"config": {
		sentence: "Package config turns configuration files into one checked, read-only value.",
		never:    map[string]string{"net/http": noHTTP, "os/exec": noExec},
	},
	"search": {
		sentence: "Package search ranks short documents for a query.",
	},
	"guard": {
		sentence: "Package guard decides what of an upstream's output may leave the hub.",
		may:      []string{"config", "wire"},
		never:    map[string]string{"net/http": noHTTP, "os/exec": noExec},
	},
	"oauthstore": {
		sentence: "Package oauthstore keeps the hub's tokens for upstream servers and carries logins to their end.",
		may:      []string{"config"},
		never:    map[string]string{chi: noRouter},
	},
	"upstream": {
		sentence: "Package upstream runs the MCP servers the hub is a client of.",
		may:      []string{"config", "wire"},
		never: map[string]string{
			chi: noRouter, module + "oauthstore": noLogin, module + "guard": noPayload, module + "hub": noClients,
			module + "front": noClients, module + "search": "what is searched is the catalog, which hub owns",
		},
	},
	"access": {
		sentence: "Package access says who a caller is and what it may do.",
		may:      []string{"config", "wire"},
		never: map[string]string{
			module + "hub":        "it judges names and claims, it does not look at what the hub holds",
			module + "upstream":   "a caller is known before any server is",
			module + "oauthstore": "the caller's token and the hub's own tokens never meet",
		},
	},
	"hub": {
		sentence: "Package hub answers a client's request from many servers.",
		may:      []string{"access", "config", "guard", "search", "upstream", "wire"},
		never: map[string]string{
			"net/http": "a request reaches the hub the same way over HTTP and stdio", "os/exec": noExec, chi: noRouter,
			oauth2: noLogin, module + "front": noClients, module + "admin": "the operator looks at the hub, not the other way",
		},
	},
	"front": {
		sentence: "Package front speaks MCP to clients.",
		may:      []string{"access", "config", "hub", "wire"},
		never: map[string]string{
			"os/exec": noExec, module + "guard": noPayload, module + "oauthstore": noLogin,
			module + "search": "search is a tool like any other: hub answers it",
		},
	},
	"admin": {
		sentence: "Package admin is the operator's view of a running hub.",
		may:      []string{"access", "config", "front", "hub", "oauthstore", "upstream", "wire"},
		never: map[string]string{
			"os/exec": noExec, module + "search": "search is a tool like any other: hub answers it", module + "guard": noPayload,
		},
	},
	"cmd/mcphub": {
		sentence: "Command mcphub serves many MCP servers as one.",
		may: []string{
			"access", "admin", "config", "front", "guard", "hub", "internal/example", "oauthstore", "search", "upstream", "wire",
		},
	},
	"internal/atomicfile": {
		sentence: "Package atomicfile writes small files whole.",
	},
	"internal/example": {
		sentence: "Package example is a small real MCP server on go-sdk, the upstream of the first minute.",
		never:    map[string]string{"os/exec": noExec},
	},
}

const (
	chi        = "github.com/go-chi/chi/v5"
	oauth2     = "golang.org/x/oauth2"
	atomicfile = module + "internal/atomicfile" // every room may write files
)

// What is beside the rooms serves the tests and the bench, and no room imports it.
var workshops = []string{"bench", "e2e", "internal/housetest", "internal/testmcp", "internal/testoauth", "soak"}

// A room imports only what is below it.
func TestArrowsPointDown(t *testing.T) {
	for _, source := range tree(t) {
		if source.isTest() || slices.Contains(workshops, source.room()) {
			continue
		}
		if _, ok := rooms[source.room()]; !ok {
			t.Errorf("%s: %s is no room yet: give it a line in the table here and in ARCHITECTURE.md", source.path, source.room())
		}
		for _, spec := range source.file.Imports {
			if reason := forbidden(source.room(), strings.Trim(spec.Path.Value, `"`)); reason != "" {
				t.Errorf("%s:%d: %s may not import %s: %s", source.path, source.line(spec.Pos()), source.room(), spec.Path.Value, reason)
			}
		}
	}
}

// forbidden is the reason why the room may not import the package, or "".
func forbidden(name, imported string) string {
	for pkg, reason := range rooms[name].never {
		if imported == pkg || strings.HasPrefix(imported, pkg+"/") {
			return reason
		}
	}
	below, ours := strings.CutPrefix(imported, module)
	if !ours || imported == atomicfile || below == name || strings.HasPrefix(below, name+"/") {
		return ""
	}
	for _, may := range rooms[name].may {
		if below == may || strings.HasPrefix(below, may+"/") {
			return ""
		}
	}
	if may := rooms[name].may; len(may) > 0 {
		return "arrows point down, and below it are only " + strings.Join(may, ", ")
	}
	return "it imports no room, so that every room can use it"
}

// Every room says first what it owns.
func TestFirstSentences(t *testing.T) {
	said := map[string]bool{}
	for _, source := range tree(t) {
		want := rooms[source.room()].sentence
		if source.dir() == source.room() && source.file.Doc != nil && strings.HasPrefix(join(source.file.Doc.Text()), want) {
			said[source.room()] = true
		}
	}
	for _, source := range tree(t) {
		if name := source.room(); rooms[name].sentence != "" && !said[name] {
			t.Errorf("no file of %s begins its doc with %q", name, rooms[name].sentence)
			said[name] = true
		}
	}
}

func join(text string) string { return strings.Join(strings.Fields(text), " ") }

// The rules themselves, on what they allow and forbid.
func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		room, imported string
		forbidden      bool
	}{
		{"wire", "encoding/json", false},
		{"wire", "net/http", true},
		{"wire", module + "config", true},
		{"config", module + "config/internal/manual", false},
		{"hub", module + "upstream", false},
		{"hub", module + "front", true},
		{"hub", "net/http/httptest", true},
		{"hub", module + "internal/testmcp", true},
		{"upstream", "os/exec", false},
		{"upstream", module + "oauthstore", true},
		{"front", chi, false},
		{"front", chi + "/middleware", false},
		{"oauthstore", chi + "/middleware", true},
		{"cmd/mcphub", module + "front", false},
		{"cmd/mcphub", module + "e2e", true},
	} {
		if got := forbidden(c.room, c.imported); (got != "") != c.forbidden {
			t.Errorf("%s importing %s: %q, want forbidden %t", c.room, c.imported, got, c.forbidden)
		}
	}
	for name, room := range rooms {
		for _, below := range room.may {
			if slices.Contains(rooms[below].may, name) {
				t.Errorf("%s and %s may import each other", name, below)
			}
			if _, ok := rooms[below]; !ok {
				t.Errorf("%s may import %s, which is no room", name, below)
			}
		}
	}
}
