package config

import (
	"encoding/json"
	"time"
)

// Server is one entry of mcpServers: an MCP server the hub is a client of, defaulted and expanded.
type Server struct {
	// Name is the entry's key. It matches [A-Za-z0-9][A-Za-z0-9_.-]{0,63}, or the entry has failed.
	Name string `json:"-"`
	// File and Line say where the entry stands. They play no part in Equal.
	File string `json:"-"`
	// Line is where the entry stands in File, from 1.
	Line int `json:"-"`
	// Failed lists the errors that keep this entry from running; empty when it can run. See Reason.
	Failed []Problem `json:"-"`
	// Source says where the entry comes from.
	Source Source `json:"-"`
	// Untrusted is the directory that has to be trusted before the entry may run (mcphub trust DIR); "" where it may. An
	// untrusted entry is as it was written: nothing in it is expanded.
	Untrusted string `json:"-"`
	// Skill is the name of the skill that carries the server, whose tools are listed once that was read; "" for others.
	Skill string `json:"-"`
	// BearerToken is the value of the variable that bearerTokenEnv names.
	BearerToken string `json:"-"`
	// Secrets are the values that must not leave the hub: what ${VAR} stood for in headers and env, secret-looking
	// literals there, the password of the URL, and the bearer token. Sorted, each once, none empty.
	Secrets []string `json:"-"`

	places map[string]Place // by field, "" for the entry itself; see Place

	// How the server is reached. Left out, it is `http` when there is a `url`, else `stdio`. `http` falls back to the
	// older HTTP+SSE transport as the MCP specification describes; `sse` goes straight to it.
	Type Type `json:"type" enum:"stdio,http,sse" same:"streamable-http=http,streamableHttp=http"`
	// The program to run, found on PATH unless it has a slash. Never goes through a shell. An entry with both `command`
	// and `url` runs the command.
	Command string `json:"command" expand:"env"`
	// The program's arguments, one string each.
	Args []string `json:"args" expand:"env"`
	// Variables for the program, beyond the base set it always gets (PATH, HOME, LANG, TMPDIR, USER, SHELL, TERM and the
	// proxy variables). Here and wherever else `${VAR}` expands, it stands for a variable of the hub's own environment;
	// `${VAR:-default}` for the default when that is unset or empty; `$${` for a literal `${`. A variable that is not set
	// fails the server.
	Env map[string]string `json:"env" expand:"env"`
	// Hand the hub's whole environment to the program, under `env`. By default it gets the base set only, so that one
	// server's secrets are not every server's.
	InheritEnv bool `json:"inheritEnv" default:"false"`
	// Working directory of the program; empty: the hub's own. A missing directory fails this server when it starts.
	Cwd string `json:"cwd" expand:"env"`
	// Endpoint of an HTTP server: http or https, with a host.
	URL string `json:"url" alias:"serverUrl,httpUrl" expand:"env"`
	// Headers sent with every request to the server. Names are compared without case.
	Headers map[string]string `json:"headers" expand:"env"`
	// How the hub authenticates itself. `auto`: a `bearerTokenEnv` or an Authorization header means bearer, and a 401 from
	// the server starts OAuth; `bearer`: one of those two must be there; `oauth`: see `oauth`; `false`: never, and a 401
	// is reported as it is.
	Auth Auth `json:"auth" default:"auto" enum:"auto,bearer,oauth,false" pending:"oauth"`
	// Name (not value) of the environment variable that holds a bearer token for the server.
	BearerTokenEnv string `json:"bearerTokenEnv"`
	// OAuth client details for the server. Without them the hub registers itself and logs in with a browser.
	OAuth OAuth `json:"oauth" pending:"*"`
	// Whether the server is used. A disabled one is listed and never started.
	Enabled bool `json:"enabled" default:"true" alias:"!disabled"`
	// When the server is connected. `lazy`: on first need, and once in the background when its tools are not known yet;
	// `eager`: when the hub starts; `keep-alive`: when the hub starts, pinged every 30 s, reconnected with backoff, never
	// shut down for being idle.
	Lifecycle Lifecycle `json:"lifecycle" default:"lazy" enum:"lazy,eager,keep-alive"`
	// Minutes (fractions allowed) without a call in flight before the connection or program is shut down; its tools stay
	// listed and the next call reconnects. Subscriptions and clients' own sessions count as use. 0 never shuts down.
	IdleTimeout time.Duration `json:"idleTimeoutMin" default:"10" unit:"min" min:"0" max:"10080"`
	// Milliseconds the server may take for one request. Progress notifications extend it, up to `maxRequestTimeoutMs`.
	RequestTimeout time.Duration `json:"requestTimeoutMs" default:"30000" unit:"ms" min:"1" max:"604800000"`
	// Milliseconds one request may take in all, however much progress it reports. 0: ten times `requestTimeoutMs`.
	MaxRequestTimeout time.Duration `json:"maxRequestTimeoutMs" default:"0" unit:"ms" min:"0" max:"6048000000"`
	// Milliseconds for connecting (or starting the program) and the MCP handshake.
	ConnectTimeout time.Duration `json:"connectTimeoutMs" default:"15000" unit:"ms" min:"1" max:"604800000"`
	// Milliseconds a client's first list waits for this server's first catalog. A later catalog arrives by list_changed.
	// 0 never waits. The variable MCPHUB_STARTUP_TIMEOUT_MS overrides it for all servers.
	StartupTimeout time.Duration `json:"startupTimeoutMs" default:"250" unit:"ms" min:"0" max:"604800000"`
	// Globs (`*`, `?`, `[…]`, `{a,b}`) over the server's own tool names: only matching tools are published. Empty: all.
	IncludeTools Globs `json:"includeTools"`
	// Globs over the server's own tool names: matching tools are not published, even when `includeTools` has them.
	ExcludeTools Globs `json:"excludeTools"`
	// Tools that stay listed while the rest of the server goes behind search: true for all, or names and globs.
	DirectTools Globs `json:"directTools" pending:"*" all:"true"`
	// How the tools are shown. `direct`: all are listed with their schemas; `search`: only `directTools`, the rest is
	// found by tool_search; `proxy`: one gateway tool for the whole server; `auto`: `direct` up to
	// `settings.searchThreshold` tools, else `search`.
	Exposure Exposure `json:"exposure" default:"auto" enum:"auto,direct,search,proxy" pending:"search,proxy"`
	// Changes to single tools, by the server's own tool name.
	Tools map[string]ToolOverride `json:"tools"`
	// Lowest level of the server's log notifications that is passed on; the stream is rate-capped.
	LogLevel string `json:"logLevel" default:"debug" enum:"debug,info,notice,warning,error,critical,alert,emergency" pending:"*"`
	// How many sessions the hub holds with the server. `shared`: one for all clients; `client`: one per client session;
	// `call`: one per call; `auto`: shared, until the server asks questions that cannot be told apart.
	Session Session `json:"session" default:"auto" enum:"auto,shared,client,call"`
	// One set of credentials and sessions per caller, so that nobody acts as somebody else.
	PerCaller bool `json:"perCaller" default:"false" pending:"*"`
	// Publish this server's names as they are, without prefix and server name. Where two would be equal, the later server
	// keeps its prefix.
	BareNames bool `json:"bareNames" default:"false"`
	// Calls in flight to this server; more wait in order. 0: no limit.
	MaxConcurrent int `json:"maxConcurrent" default:"0" min:"0" max:"1000000" pending:"*"`
	// Effects of the tools that do not declare them by annotations.
	Effects []string `json:"effects" enum:"net_read,net_write" pending:"*"`
}

// ToolOverride changes one tool of a server.
type ToolOverride struct {
	// The name to publish in place of the server's own; prefix and alphabet rules still hold for it.
	Name string `json:"name" pattern:"[A-Za-z0-9_./-]*"`
	// The description to publish in place of the server's own.
	Description string `json:"description"`
	// Whether the tool is published and can be called.
	Enabled bool `json:"enabled" default:"true" alias:"!disabled"`
	// Effects of the tool, whatever its annotations say.
	Effects []string `json:"effects" enum:"net_read,net_write" pending:"*"`
	// Milliseconds for one call, in place of the server's `requestTimeoutMs`. 0: that one.
	Timeout time.Duration `json:"timeoutMs" default:"0" unit:"ms" min:"0" max:"604800000"`
	// Bytes of a result before it is cut, in place of `outputGuard.maxBytes`. 0: that one.
	MaxBytes int64 `json:"maxBytes" default:"0" min:"0" max:"1099511627776" pending:"*"`
	// Arguments that every call carries, as JSON. Clients neither see nor change them.
	Arguments map[string]json.RawMessage `json:"arguments"`
}

// OAuth says how the hub gets tokens for a server.
type OAuth struct {
	// How a token is got. `code`: a person logs in with a browser; `client_credentials`: the hub's own identity;
	// `jwt_bearer`: a token of the workload from `assertionFile`; `enterprise`: an identity provider vouches, see `idp`.
	Flow string `json:"flow" default:"code" enum:"code,client_credentials,jwt_bearer,enterprise"`
	// Identifier of a client registered beforehand. Empty: the hub registers itself.
	ClientID string `json:"clientId"`
	// Name of the environment variable that holds the client's secret.
	ClientSecretEnv string `json:"clientSecretEnv"`
	// PEM file with the client's private key, for private_key_jwt.
	PrivateKeyFile string `json:"privateKeyFile"`
	// Algorithm the private key signs with. Empty: by the kind of key.
	SigningAlg string `json:"signingAlg" enum:"ES256,RS256,EdDSA"`
	// Key id put into signed assertions.
	KeyID string `json:"keyId"`
	// Audience of signed assertions: `issuer`, `token_endpoint`, or a URI.
	AssertionAudience string `json:"assertionAudience" default:"issuer"`
	// File with the workload's token for `jwt_bearer`, read again at each use.
	AssertionFile string `json:"assertionFile"`
	// The identity provider of the `enterprise` flow.
	IDP IDP `json:"idp"`
	// How the client authenticates at the token endpoint. Empty: what the authorization server supports.
	TokenEndpointAuthMethod string `json:"tokenEndpointAuthMethod" enum:"client_secret_basic,client_secret_post,private_key_jwt,none"`
	// Scopes asked for beyond those that the server demands.
	Scopes []string `json:"scopes"`
	// Whether offline_access is asked for. `auto`: when the authorization server lists it.
	OfflineAccess string `json:"offlineAccess" default:"auto" enum:"auto,always,never"`
	// The resource indicator: `auto` takes it from the server's metadata, `omit` sends none, else a URI.
	Resource string `json:"resource" default:"auto"`
	// Extra parameters for the two requests.
	ExtraParams ExtraParams `json:"extraParams"`
	// Issuer to use when the server names several. Empty: the first.
	AuthorizationServer string `json:"authorizationServer"`
	// HTTPS URL of a client ID metadata document. Empty: the hub's own, when it has a public URL.
	ClientMetadataURL string `json:"clientMetadataUrl"`
	// Host name of the loopback callback.
	CallbackHost string `json:"callbackHost" default:"127.0.0.1" enum:"127.0.0.1,localhost"`
	// Port of the loopback callback. 0: any free one.
	CallbackPort int `json:"callbackPort" default:"0" min:"0" max:"65535"`
	// Program that opens the login URL, which is added as its last argument. Empty: the system's.
	BrowserCommand string `json:"browserCommand"`
	// Open the browser without being asked when a login is needed.
	AutoLogin bool `json:"autoLogin" default:"false"`
	// Proof of possession: `auto` uses it where the server asks for it.
	DPoP string `json:"dpop" default:"auto" enum:"auto,off"`
	// Hosts whose OAuth endpoints may be plain HTTP or on private addresses.
	InsecureHosts []string `json:"insecureHosts"`
}

// IDP is the identity provider of the enterprise flow.
type IDP struct {
	// Issuer, from which the token endpoint is discovered.
	Issuer string `json:"issuer"`
	// Token endpoint, when it cannot be discovered.
	TokenEndpoint string `json:"tokenEndpoint"`
	// The hub's client at the identity provider.
	ClientID string `json:"clientId"`
	// Name of the environment variable that holds that client's secret.
	ClientSecretEnv string `json:"clientSecretEnv"`
	// File with the user's ID token.
	IDTokenFile string `json:"idTokenFile"`
}

// ExtraParams are parameters that some authorization servers want.
type ExtraParams struct {
	// Added to the authorization URL.
	Authorize map[string]string `json:"authorize"`
	// Added to token requests.
	Token map[string]string `json:"token"`
}

// Type is how a server is reached.
type Type string

// The types of server.
const (
	TypeStdio Type = "stdio" // a program, over its standard input and output
	TypeHTTP  Type = "http"  // Streamable HTTP, with fallback to HTTP+SSE
	TypeSSE   Type = "sse"   // HTTP+SSE of protocol version 2024-11-05
)

// Auth is how the hub authenticates itself to a server.
type Auth string

// The ways to authenticate.
const (
	AuthAuto   Auth = "auto"
	AuthBearer Auth = "bearer"
	AuthOAuth  Auth = "oauth"
	AuthNone   Auth = "false"
)

// Lifecycle is when a server is connected.
type Lifecycle string

// The lifecycles.
const (
	LifecycleLazy      Lifecycle = "lazy"
	LifecycleEager     Lifecycle = "eager"
	LifecycleKeepAlive Lifecycle = "keep-alive"
)

// Exposure is how tools are shown to clients.
type Exposure string

// The exposures. The zero value, in settings only, leaves it to each server.
const (
	ExposureAuto   Exposure = "auto"
	ExposureDirect Exposure = "direct"
	ExposureSearch Exposure = "search"
	ExposureProxy  Exposure = "proxy"
)

// Session is how many sessions the hub holds with a server.
type Session string

// The ways to hold sessions.
const (
	SessionAuto   Session = "auto"
	SessionShared Session = "shared"
	SessionClient Session = "client"
	SessionCall   Session = "call"
)
