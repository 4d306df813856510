// Package testmcp holds real small MCP servers for tests, misbehaviours by name.
//
// The servers are written on bare JSON-RPC bytes, without an SDK, because they
// have to send exactly the bytes a test asks for. One server, [New], speaks over
// three transports:
//
//   - stdio: a test binary becomes the server when TestMain calls [Main] first;
//     [Command] says what a client has to start.
//   - Streamable HTTP: [HTTP].
//   - HTTP+SSE of protocol version 2024-11-05: [SSE].
//
// What a server does is said by its name: parts joined by "+", each the name of
// an entry of [Misbehaviours], with ":" and an argument where the entry takes
// one. "well" (or "") is the server with no surprises.
//
//	modern                  both protocol eras
//	modern+json-answers     the same, answering POSTs with JSON
//	mute:tools/call         well behaved, but never answers a call
//	429#1                   the first call gets 429, later ones an answer
//
// Every server writes what it received into a [Log].
package testmcp
