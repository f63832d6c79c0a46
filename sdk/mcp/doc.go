// Package mcp speaks the Model Context Protocol on the wire: raw JSON in, raw
// JSON out. It exists because a host promises byte fidelity and has to live
// with the servers people really run.
//
// Its layers, lowest first, each knowing nothing of the ones above:
//
//   - scan.go, envelope.go: a validating JSON scanner that finds members
//     without decoding them;
//   - lines.go, decoder.go: bytes to messages, tolerant of everything servers
//     print on stdout besides messages;
//   - writer.go: messages to bytes, where a peer that stops reading blocks
//     nobody;
//   - session.go: JSON-RPC 2.0, that is ids, correlation, cancellation, requests
//     and notifications of the peer;
//   - answers.go: the peer's requests while the caller answers them;
//   - process.go and its OS files: the child process;
//   - client.go, handshake.go, list.go: an MCP client over these, both protocol
//     eras: initialize (2024-11-05 ... 2025-11-25) and server/discover
//     (2026-07-28).
//
// Results, parameters and tool definitions are slices of the bytes the peer
// wrote. Arguments travel as the caller wrote them; line breaks between tokens
// alone become spaces, because a line is a message.
//
// The package never retries a request, never judges content, schemas or
// annotations, and never restarts a server that had finished its handshake.
package mcp
