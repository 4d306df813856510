// Package front speaks MCP to clients.
//
// It serves Streamable HTTP in both protocol eras, the older HTTP+SSE transport, and stdio. It reads
// each message's envelope once, keeps sessions and their streams, and leaves the answer to the hub.
package front
