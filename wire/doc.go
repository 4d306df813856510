// Package wire reads and writes JSON-RPC messages without decoding what they carry.
//
// A message is scanned once: its syntax is checked and the members of its
// envelope are found. Everything else stays the bytes that arrived, so what the
// hub does not mean to change cannot change: key order, 64-bit integers, unknown
// members, odd schemas. The slices that a scan returns alias its input.
package wire
