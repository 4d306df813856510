// Package upstream runs the MCP servers the hub is a client of.
//
// A [Server] is one configured server: it connects when needed, keeps what the server offers, and
// carries calls to it. A [Conn] is one live connection: a table of the calls in flight over one of
// three transports (a child's stdio, Streamable HTTP, legacy HTTP+SSE). Payloads stay bytes.
package upstream
