package config

// Settings is the settings object: what holds for the hub as a whole.
type Settings struct {
	// Whether any server is used. false: none is started and all lists are empty, for maintenance.
	Enabled bool `json:"enabled" default:"true"`
	// First part of published names: prefix, separator, server, separator, tool. `""` drops it. Letters, digits, `_`, `-`.
	ToolPrefix string `json:"toolPrefix" default:"mcp" pattern:"[A-Za-z0-9_-]*"`
	// What stands between the parts of a published name.
	ToolSeparator string `json:"toolSeparator" default:"_" enum:"_,__"`
	// Characters of a published name; a longer one is cut and ends in a stable hash. Model APIs stop at 64 and clients put
	// `mcp__<hub>__` in front.
	MaxToolNameLength int `json:"maxToolNameLength" default:"50" min:"16" max:"128"`
	// Tools of a server, after its filters, above which `auto` exposure means search.
	SearchThreshold int `json:"searchThreshold" default:"10" min:"0" max:"1000000" pending:"*"`
	// Tools listed directly in all; above it, the `auto` servers with the most tools move to search first. 0: no limit.
	MaxDirectTools int `json:"maxDirectTools" default:"0" min:"0" max:"1000000" pending:"*"`
	// Exposure of all servers, over what they say themselves; `proxy` publishes a single gateway tool for everything.
	// Left out: each server's own.
	Exposure Exposure `json:"exposure" enum:"direct,search,proxy" pending:"search,proxy"`
	// What is taken out of, and cut from, what servers return.
	OutputGuard OutputGuard `json:"outputGuard" pending:"*"`
	// Client programs whose MCP files in the project directory are imported, the first winning where two have a server of
	// one name: .mcp.json, .cursor/mcp.json, .vscode/mcp.json, .codex/config.toml, .gemini/settings.json,
	// .windsurf/mcp_config.json. Their servers run once `mcphub trust DIR` was said of the project directory, and again
	// after each change; so do those of its .mcphub/config.json, which is always looked for.
	ImportConfigs []string `json:"importConfigs" enum:"claude,cursor,vscode,codex,gemini,windsurf"`
	// Where project and imported files are looked for, and where their programs run. Relative to the file that says it.
	// Empty: the directory of the first configuration file.
	ProjectDir string `json:"projectDir" expand:"env"`
	// Directories with skills that carry servers: each is a skill or holds skills. A skill is a directory with SKILL.md and
	// an mcp.json beside it, or an `mcp:` block in its front matter. Its programs run in it. Relative to the file that says it.
	Skills []string `json:"skills" expand:"env"`
	// Public callback URL of logins, when the hub is behind a proxy or port forwarding.
	OAuthCallbackURL string `json:"oauthCallbackUrl" pending:"*"`
	// The hub's own public base URL: http or https, with a host, without query or fragment. No slash at the end.
	PublicURL string `json:"publicUrl"`
	// List hidden tools as short stubs, so that the list keeps its length and order.
	StubSwap bool `json:"stubSwap" default:"false" pending:"*"`
	// Whether clients that defer tools themselves get the whole catalog. `auto`: those known to do so.
	NativeToolSearch string `json:"nativeToolSearch" default:"auto" enum:"auto,true,false" pending:"*"`
	// Whether tool_call is listed beside tool_search. `auto`: when anything is hidden.
	ToolCall string `json:"toolCall" default:"auto" enum:"auto,true,false" pending:"*"`
	// Whether the tools mcp_list_resources and mcp_read_resource are listed. `auto`: when a connected server has resources.
	ResourceTools string `json:"resourceTools" default:"auto" enum:"auto,true,false"`
	// Which calls are allowed, asked about or denied.
	Policy Policy `json:"policy" pending:"*"`
	// Who may come in.
	Inbound Inbound `json:"inbound"`
	// Named sets of servers, tools and policies, by name.
	Profiles map[string]Profile `json:"profiles" pending:"*"`
	// Bounds that keep one client or server from exhausting the hub.
	Limits Limits `json:"limits"`
	// Hosts that HTTP servers and OAuth endpoints may have.
	Network Network `json:"network" pending:"*"`
	// Servers that clients may hand over at run time: none, HTTP servers, or any.
	SessionServers string `json:"sessionServers" default:"off" enum:"off,http,any"`
	// Programs alive at a time; above it, the least recently used idle one is shut down first, and where none is idle a
	// program that is to be started waits for up to its `connectTimeoutMs`. 0: no limit.
	MaxProcesses int `json:"maxProcesses" default:"0" min:"0" max:"1000000"`
	// Resident memory of all programs together in MiB, looked at every 30 s and when one is started; above it, the same
	// happens. Known on Linux only. 0: no limit.
	MaxProcessMemoryMB int `json:"maxProcessMemoryMB" default:"0" min:"0" max:"1000000000"`
	// What a changed description or schema of an approved tool leads to.
	PinTools string `json:"pinTools" default:"warn" enum:"off,warn,block"`
	// Where tokens, scopes, promotions and artifacts live: `file` is the data directory; a `redis://` URL is shared by hubs.
	Store string `json:"store" default:"file" pending:"*"`
}

// OutputGuard bounds and cleans what servers return.
type OutputGuard struct {
	// Bytes of text in a result before it is cut. 0: no limit.
	MaxBytes int64 `json:"maxBytes" default:"0" min:"0" max:"1099511627776"`
	// Lines of text in a result before it is cut. 0: no limit.
	MaxLines int64 `json:"maxLines" default:"0" min:"0" max:"1099511627776"`
	// Estimated tokens of text in a result before it is cut. 0: no limit.
	MaxTokens int64 `json:"maxTokens" default:"0" min:"0" max:"1099511627776"`
	// Bytes of an image, audio or blob before it is kept as an artifact instead. 0: no limit.
	MaxBinaryBytes int64 `json:"maxBinaryBytes" default:"0" min:"0" max:"1099511627776"`
	// Replace secrets in results.
	Redact bool `json:"redact" default:"false"`
	// Where whole results are kept when they are cut.
	Artifacts Artifacts `json:"artifacts"`
}

// Artifacts is the store of whole results.
type Artifacts struct {
	// Directory of the files. Empty: inside the data directory.
	Dir string `json:"dir"`
	// Bytes of all artifacts together; the oldest go first. 0: none are kept.
	MaxBytes int64 `json:"maxBytes" default:"0" min:"0" max:"1099511627776"`
	// Hours an artifact is kept. 0: no limit.
	TTLHours int `json:"ttlHours" default:"0" min:"0" max:"1000000"`
}

// Policy decides per call. The first rule that matches wins; without one the mode decides.
type Policy struct {
	// `auto` allows all; `accept-reads` allows reads and asks about writes; `read-only` denies and hides writes.
	Mode string `json:"mode" default:"auto" enum:"auto,accept-reads,read-only"`
	// Rules, in order.
	Rules []PolicyRule `json:"rules"`
}

// PolicyRule matches a call when all of its lists do; an empty list matches everything.
type PolicyRule struct {
	// What happens to a matching call.
	Decision string `json:"decision" default:"ask" enum:"allow,ask,deny"`
	// Effects of the tool.
	Effects []string `json:"effects" enum:"net_read,net_write"`
	// Globs over published tool names.
	Tools Globs `json:"tools"`
	// Globs over server names.
	Servers Globs `json:"servers"`
	// Globs over callers.
	Callers Globs `json:"callers"`
}

// Inbound says who may come in.
type Inbound struct {
	// Host names accepted in the Host header besides loopback and the listen address, without port. Needed when clients
	// reach the hub by another name, for example that of a Docker service. The check stops DNS rebinding.
	AllowedHosts []string `json:"allowedHosts"`
	// Origins of browser pages that may call the hub besides loopback ones, as scheme://host or scheme://host:port.
	AllowedOrigins []string `json:"allowedOrigins"`
	// How callers prove who they are. Left out: nobody needs to, and the hub listens on loopback only.
	Auth InboundAuth `json:"auth" pending:"*"`
}

// InboundAuth says how callers prove who they are.
type InboundAuth struct {
	// Accept the static tokens that `mcphub token` manages.
	Tokens bool `json:"tokens" default:"false"`
	// Authorization servers whose access tokens are accepted.
	Issuers []Issuer `json:"issuers"`
}

// Issuer is an authorization server whose access tokens are accepted.
type Issuer struct {
	// Issuer URL, exactly as in the tokens.
	Issuer string `json:"issuer"`
	// Audiences accepted. Empty: the hub's own resource URL.
	Audiences []string `json:"audiences"`
	// Scopes a token must have.
	Scopes []string `json:"scopes"`
	// Claim that holds the caller's groups.
	GroupsClaim string `json:"groupsClaim" default:"groups"`
	// The `typ` header a token must have. Empty: any.
	Typ string `json:"typ"`
	// Profile of the callers. Empty: everything is visible.
	Profile string `json:"profile"`
}

// Profile is a named set of servers, tools and a policy.
type Profile struct {
	// Globs over server names. Empty: all.
	Servers Globs `json:"servers"`
	// Globs over published tool names. Empty: all.
	Tools Globs `json:"tools"`
	// Policy of the profile, before the hub's own.
	Policy Policy `json:"policy"`
}

// Limits keeps one client or server from exhausting the hub.
type Limits struct {
	// Bytes of one message from a server, and of one line of a program's output.
	MaxMessageBytes int64 `json:"maxMessageBytes" default:"67108864" min:"65536" max:"1073741824"`
	// Bytes of a client's request body; more is answered with 413. 0: `maxMessageBytes`.
	MaxRequestBytes int64 `json:"maxRequestBytes" default:"0" min:"0" max:"1073741824" pending:"*"`
	// Bytes of a client's request headers; more is answered with 431. 0: the HTTP server's own limit, 1 MiB.
	MaxHeaderBytes int64 `json:"maxHeaderBytes" default:"0" min:"0" max:"16777216" pending:"*"`
	// Sessions of one caller at a time; more are answered with 429. 0: no limit.
	MaxSessions int `json:"maxSessions" default:"0" min:"0" max:"1000000" pending:"*"`
	// Calls of one caller in flight at a time; more are answered with 429. 0: no limit.
	MaxCalls int `json:"maxCalls" default:"0" min:"0" max:"1000000" pending:"*"`
	// Requests of one caller in a minute; more are answered with 429. 0: no limit.
	RequestsPerMinute int `json:"requestsPerMinute" default:"0" min:"0" max:"1000000000" pending:"*"`
}

// Network says where the hub may connect to.
type Network struct {
	// Host globs and CIDRs that are allowed, also where they are link-local or metadata addresses.
	Allow []string `json:"allow"`
	// Host globs and CIDRs that are refused.
	Deny []string `json:"deny"`
}
