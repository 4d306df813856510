package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcphub/config"
)

// parse loads a file from memory that has to be parseable.
func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("test.json", []byte(text), lookup)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// one loads a file with one server, called a, and wants no problems.
func one(t *testing.T, entry string) *config.Server {
	t.Helper()
	c := parse(t, `{"mcpServers": {"a": `+entry+`}}`)
	if len(c.Problems) > 0 {
		t.Fatalf("%s: %v", entry, c.Problems)
	}
	return c.Servers[0]
}

func TestDefaultsOfServer(t *testing.T) {
	got := one(t, `{"command": "x"}`)
	want := &config.Server{
		Name: "a", File: "test.json", Line: 1, Source: config.SourceFile,
		Type: config.TypeStdio, Command: "x",
		OAuth: config.OAuth{
			Flow: "code", AssertionAudience: "issuer", OfflineAccess: "auto", Resource: "auto",
			CallbackHost: "127.0.0.1", DPoP: "auto",
		},
		Auth: config.AuthAuto, Enabled: true, Lifecycle: config.LifecycleLazy, IdleTimeout: 10 * time.Minute,
		RequestTimeout: 30 * time.Second, MaxRequestTimeout: 5 * time.Minute, ConnectTimeout: 15 * time.Second,
		StartupTimeout: 250 * time.Millisecond, Exposure: config.ExposureAuto, LogLevel: "debug", Session: config.SessionAuto,
	}
	if !got.Equal(want) || got.File != want.File || got.Line != want.Line || len(got.Failed) > 0 {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := one(t, `{"url": "https://a.example"}`).Type; got != config.TypeHTTP {
		t.Errorf("type of an entry with a url: %q", got)
	}
}

func TestDefaultsOfSettings(t *testing.T) {
	want := config.Settings{
		Enabled: true, ToolPrefix: "mcp", ToolSeparator: "_", MaxToolNameLength: 50, SearchThreshold: 10,
		NativeToolSearch: "auto", ToolCall: "auto", ResourceTools: "auto",
		Policy: config.Policy{Mode: "auto"}, Limits: config.Limits{MaxMessageBytes: 64 << 20},
		SessionServers: "off", PinTools: "warn", Store: "file",
	}
	for _, text := range []string{`{}`, `{"settings": {}}`, `{"settings": null, "mcpServers": null}`} {
		if got := parse(t, text); !reflect.DeepEqual(got.Settings, want) || len(got.Problems) > 0 {
			t.Errorf("%s: got %+v %v\nwant %+v", text, got.Settings, got.Problems, want)
		}
	}
}

// row is one field set in a file and the Go value it has to become. In is the object around the member.
type row struct {
	json string // the member
	get  func(*config.Server) any
	want any
}

var serverRows = []row{
	{`"type": "stdio", "command": "x"`, func(s *config.Server) any { return s.Type }, config.TypeStdio},
	{`"type": "http", "url": "http://a"`, func(s *config.Server) any { return s.Type }, config.TypeHTTP},
	{`"type": "streamable-http", "url": "http://a"`, func(s *config.Server) any { return s.Type }, config.TypeHTTP},
	{`"type": "streamableHttp", "url": "http://a"`, func(s *config.Server) any { return s.Type }, config.TypeHTTP},
	{`"type": "sse", "url": "http://a"`, func(s *config.Server) any { return s.Type }, config.TypeSSE},
	{`"command": "${EMPTY:-npx}"`, func(s *config.Server) any { return s.Command }, "npx"},
	{`"command": "x", "args": ["-y", "${API_KEY}"]`, func(s *config.Server) any { return s.Args }, []string{"-y", "key-from-env"}},
	{`"command": "x", "env": {"A": "${API_KEY}"}`, func(s *config.Server) any { return s.Env }, map[string]string{"A": "key-from-env"}},
	{`"command": "x", "inheritEnv": true`, func(s *config.Server) any { return s.InheritEnv }, true},
	{`"command": "x", "cwd": "${HOME}/x"`, func(s *config.Server) any { return s.Cwd }, "/home/me/x"},
	{`"url": "https://a/${API_KEY}"`, func(s *config.Server) any { return s.URL }, "https://a/key-from-env"},
	{`"serverUrl": "https://a"`, func(s *config.Server) any { return s.URL }, "https://a"},
	{`"httpUrl": "https://a"`, func(s *config.Server) any { return s.URL }, "https://a"},
	{`"url": "https://a", "headers": {"X-A": "k ${API_KEY}"}`, func(s *config.Server) any { return s.Headers }, map[string]string{"X-A": "k key-from-env"}},
	{`"url": "https://a", "auth": false`, func(s *config.Server) any { return s.Auth }, config.AuthNone},
	{`"url": "https://a", "auth": "bearer", "bearerTokenEnv": "API_KEY"`, func(s *config.Server) any { return s.Auth }, config.AuthBearer},
	{`"url": "https://a", "bearerTokenEnv": "API_KEY"`, func(s *config.Server) any { return s.BearerTokenEnv + "=" + s.BearerToken }, "API_KEY=key-from-env"},
	{`"command": "x", "enabled": false`, func(s *config.Server) any { return s.Enabled }, false},
	{`"command": "x", "disabled": true`, func(s *config.Server) any { return s.Enabled }, false},
	{`"command": "x", "disabled": false`, func(s *config.Server) any { return s.Enabled }, true},
	{`"command": "x", "lifecycle": "eager"`, func(s *config.Server) any { return s.Lifecycle }, config.LifecycleEager},
	{`"command": "x", "lifecycle": "keep-alive"`, func(s *config.Server) any { return s.Lifecycle }, config.LifecycleKeepAlive},
	{`"command": "x", "idleTimeoutMin": 0.5`, func(s *config.Server) any { return s.IdleTimeout }, 30 * time.Second},
	{`"command": "x", "idleTimeoutMin": 0`, func(s *config.Server) any { return s.IdleTimeout }, time.Duration(0)},
	{`"command": "x", "requestTimeoutMs": 1500`, func(s *config.Server) any { return s.RequestTimeout }, 1500 * time.Millisecond},
	{`"command": "x", "requestTimeoutMs": 1500`, func(s *config.Server) any { return s.MaxRequestTimeout }, 15 * time.Second},
	{`"command": "x", "maxRequestTimeoutMs": 60000`, func(s *config.Server) any { return s.MaxRequestTimeout }, time.Minute},
	{`"command": "x", "connectTimeoutMs": 1`, func(s *config.Server) any { return s.ConnectTimeout }, time.Millisecond},
	{`"command": "x", "startupTimeoutMs": 0`, func(s *config.Server) any { return s.StartupTimeout }, time.Duration(0)},
	{`"command": "x", "includeTools": ["a*"]`, func(s *config.Server) any { return s.IncludeTools }, config.Globs{"a*"}},
	{`"command": "x", "excludeTools": ["b"]`, func(s *config.Server) any { return s.ExcludeTools }, config.Globs{"b"}},
	{`"command": "x", "exposure": "direct"`, func(s *config.Server) any { return s.Exposure }, config.ExposureDirect},
	{`"command": "x", "tools": {"t": {"name": "n", "description": "d", "enabled": false, "timeoutMs": 5}}`, func(s *config.Server) any { return s.Tools["t"] },
		config.ToolOverride{Name: "n", Description: "d", Timeout: 5 * time.Millisecond}},
	{`"command": "x", "tools": {"t": {"disabled": true}}`, func(s *config.Server) any { return s.Tools["t"].Enabled }, false},
	{`"command": "x", "tools": {"t": {"arguments": {"big": 12345678901234567890, "o": {"b": 1, /* c */ "a": [1.50,],},}}}`,
		func(s *config.Server) any {
			return fmt.Sprintf("%s %s", s.Tools["t"].Arguments["big"], s.Tools["t"].Arguments["o"])
		}, `12345678901234567890 {"b":1,"a":[1.50]}`},
	{`"command": "x", "directTools": true`, func(s *config.Server) any { return s.DirectTools }, config.Globs{"*"}},
	{`"command": "x", "directTools": ["*"]`, func(s *config.Server) any { return s.DirectTools }, config.Globs{"*"}},
	{`"command": "x", "bareNames": true`, func(s *config.Server) any { return s.BareNames }, true},
	{`"command": "x", "session": "client"`, func(s *config.Server) any { return s.Session }, config.SessionClient},
}

func TestFieldsOfServer(t *testing.T) {
	for _, r := range serverRows {
		if got := r.get(one(t, "{"+r.json+"}")); !reflect.DeepEqual(got, r.want) {
			t.Errorf("%s: got %#v, want %#v", r.json, got, r.want)
		}
	}
}

var settingsRows = []struct {
	json string
	get  func(config.Settings) any
	want any
}{
	{`"enabled": false`, func(s config.Settings) any { return s.Enabled }, false},
	{`"toolPrefix": ""`, func(s config.Settings) any { return s.ToolPrefix }, ""},
	{`"toolPrefix": "Hub-1_x"`, func(s config.Settings) any { return s.ToolPrefix }, "Hub-1_x"},
	{`"toolSeparator": "__"`, func(s config.Settings) any { return s.ToolSeparator }, "__"},
	{`"maxToolNameLength": 128`, func(s config.Settings) any { return s.MaxToolNameLength }, 128},
	{`"exposure": "direct"`, func(s config.Settings) any { return s.Exposure }, config.ExposureDirect},
	{`"resourceTools": false`, func(s config.Settings) any { return s.ResourceTools }, "false"},
	{`"publicUrl": "https://hub.example.com/base/"`, func(s config.Settings) any { return s.PublicURL }, "https://hub.example.com/base"},
	{`"inbound": {"allowedHosts": ["MCPhub", "[::1]", "10.0.0.7"]}`, func(s config.Settings) any { return s.Inbound.AllowedHosts }, []string{"mcphub", "::1", "10.0.0.7"}},
	{`"inbound": {"allowedOrigins": ["https://App.example.com/", "http://localhost:3000", "https://a:443", "http://a:443", "app://x"]}`, func(s config.Settings) any { return s.Inbound.AllowedOrigins },
		[]string{"https://app.example.com", "http://localhost:3000", "https://a", "http://a:443", "app://x"}},
	{`"limits": {"maxMessageBytes": 1048576}`, func(s config.Settings) any { return s.Limits.MaxMessageBytes }, int64(1 << 20)},
	{`"pinTools": "block"`, func(s config.Settings) any { return s.PinTools }, "block"},
	{`"sessionServers": "http"`, func(s config.Settings) any { return s.SessionServers }, "http"},
	{`"importConfigs": ["claude", "codex"]`, func(s config.Settings) any { return s.ImportConfigs }, []string{"claude", "codex"}},
	{`"projectDir": "/p"`, func(s config.Settings) any { return s.ProjectDir }, "/p"},
	{`"skills": ["s"]`, func(s config.Settings) any { return s.Skills }, []string{"s"}},
	{`"maxProcesses": 7`, func(s config.Settings) any { return s.MaxProcesses }, 7},
	{`"maxProcessMemoryMB": 512`, func(s config.Settings) any { return s.MaxProcessMemoryMB }, 512},
}

func TestFieldsOfSettings(t *testing.T) {
	for _, r := range settingsRows {
		c := parse(t, `{"settings": {`+r.json+`}}`)
		if got := r.get(c.Settings); !reflect.DeepEqual(got, r.want) || len(c.Problems) > 0 {
			t.Errorf("%s: got %#v %v, want %#v", r.json, got, c.Problems, r.want)
		}
	}
}

// TestEveryFieldIsTested fails when a field works (has no pending:"*" tag) and no row above sets it.
func TestEveryFieldIsTested(t *testing.T) {
	var rows strings.Builder
	for _, r := range serverRows {
		rows.WriteString(r.json)
	}
	for _, r := range settingsRows {
		rows.WriteString(r.json)
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[config.Server](), reflect.TypeFor[config.ToolOverride](), reflect.TypeFor[config.Settings](),
		reflect.TypeFor[config.Inbound](), reflect.TypeFor[config.Limits](),
	} {
		for i := range typ.NumField() {
			tag := typ.Field(i).Tag
			name := tag.Get("json")
			if name == "-" || name == "" || tag.Get("pending") == "*" && tag.Get("all") == "" {
				continue
			}
			if !strings.Contains(rows.String(), `"`+name+`": `) {
				t.Errorf("%s.%s has no row", typ.Name(), name)
			}
		}
	}
}

// TestPendingFieldsKeepTheirDefaults: what is refused must not act either.
func TestPendingFieldsKeepTheirDefaults(t *testing.T) {
	c := parse(t, `{"settings": {"searchThreshold": 3, "policy": {"mode": "read-only", "mood": 1}, "stubSwap": true, "outputGuard": {"redact": true}},
		"mcpServers": {"a": {"command": "x", "perCaller": true, "maxConcurrent": 3, "directTools": ["x"]}}}`)
	s := c.Servers[0]
	if s.PerCaller || s.MaxConcurrent != 0 || s.DirectTools != nil || len(s.Failed) != 3 {
		t.Errorf("server: %+v", s)
	}
	if n := len(c.Problems); n != 8 { // the unknown key of policy, and each pending field
		t.Errorf("%d problems: %v", n, c.Problems)
	}
	if got, want := c.Settings, parse(t, `{}`).Settings; !reflect.DeepEqual(got, want) {
		t.Errorf("settings: got %+v, want %+v", got, want)
	}
}
