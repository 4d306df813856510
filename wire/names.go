package wire

import "slices"

// Protocol versions of MCP that the hub speaks on both sides.
const (
	V20241105 = "2024-11-05" // HTTP+SSE and stdio
	V20250326 = "2025-03-26" // Streamable HTTP, batches
	V20250618 = "2025-06-18" // no batches, MCP-Protocol-Version header
	V20251125 = "2025-11-25" // the newest with sessions
	V20260728 = "2026-07-28" // stateless
)

// Versions are the protocol versions that the hub speaks, newest first.
var Versions = []string{V20260728, V20251125, V20250618, V20250326, V20241105}

// Known says whether v is a protocol version that the hub speaks.
func Known(v string) bool { return slices.Contains(Versions, v) }

// Modern says whether v belongs to the stateless era: every request carries its version and
// capabilities, and no session is opened (MCP 2026-07-28, Versioning).
func Modern(v string) bool { return v >= V20260728 }

// Methods of MCP that the hub names.
const (
	Initialize          = "initialize"
	Discover            = "server/discover"
	Ping                = "ping"
	ToolsList           = "tools/list"
	ToolsCall           = "tools/call"
	ResourcesList       = "resources/list"
	ResourceTemplates   = "resources/templates/list"
	ResourcesRead       = "resources/read"
	ResourcesSubscribe  = "resources/subscribe"
	PromptsList         = "prompts/list"
	PromptsGet          = "prompts/get"
	SetLevel            = "logging/setLevel"
	Listen              = "subscriptions/listen"
	Initialized         = "notifications/initialized"
	Cancelled           = "notifications/cancelled"
	Progress            = "notifications/progress"
	LogMessage          = "notifications/message"
	ToolsChanged        = "notifications/tools/list_changed"
	PromptsChanged      = "notifications/prompts/list_changed"
	ResourcesChanged    = "notifications/resources/list_changed"
	ResourceUpdated     = "notifications/resources/updated"
	Acknowledged        = "notifications/subscriptions/acknowledged"
	ElicitationCreate   = "elicitation/create"
	SamplingCreate      = "sampling/createMessage"
	RootsList           = "roots/list"
	RootsChanged        = "notifications/roots/list_changed"
	TaskStatus          = "notifications/tasks/status"
	TasksGet            = "tasks/get"
	TasksResult         = "tasks/result"
	ElicitationComplete = "notifications/elicitation/complete"
	CompletionComplete  = "completion/complete"
	ResourceUnsubscribe = "resources/unsubscribe"
)

var knownMethods = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		Initialize, Discover, Ping, ToolsList, ToolsCall, ResourcesList, ResourceTemplates, ResourcesRead,
		ResourcesSubscribe, PromptsList, PromptsGet, SetLevel, Listen, Initialized, Cancelled, Progress, LogMessage,
		ToolsChanged, PromptsChanged, ResourcesChanged, ResourceUpdated, Acknowledged, ElicitationCreate,
		SamplingCreate, RootsList, RootsChanged, TaskStatus, ElicitationComplete, CompletionComplete, ResourceUnsubscribe,
	} {
		m[name] = name
	}
	return m
}()

// Keys of _meta that the stateless era reserves (MCP 2026-07-28, Basic, General fields).
const (
	MetaVersion        = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo     = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities   = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel       = "io.modelcontextprotocol/logLevel"
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
	MetaServerInfo     = "io.modelcontextprotocol/serverInfo"
)

// Error codes: JSON-RPC 2.0 section 5.1, then those of MCP 2026-07-28 (Basic, Error Codes).
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Header names of the Streamable HTTP transport, in the form in which Go's HTTP headers are stored.
const (
	HeaderSession = "Mcp-Session-Id"
	HeaderVersion = "Mcp-Protocol-Version"
	HeaderMethod  = "Mcp-Method"
	HeaderName    = "Mcp-Name"
	HeaderParam   = "Mcp-Param-"
	HeaderLastID  = "Last-Event-Id"
)
