// Package hub answers a client's request from many servers.
//
// A [Hub] publishes the servers' tools in one immutable catalog and routes calls by it. A client sees
// either that merged view or, as a pure relay, one server. Where client and server are of different
// protocol eras, the hub translates the envelope and leaves the payload alone.
package hub
