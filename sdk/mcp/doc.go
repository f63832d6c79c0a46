// Package mcp speaks the Model Context Protocol on the wire: raw JSON in, raw
// JSON out. It exists because a host promises byte fidelity and has to live
// with the servers people really run.
//
// Its layers, lowest first, each knowing nothing of the ones above:
//
//   - scan.go, envelope.go: a validating JSON scanner that finds members
//     without decoding them;
//   - lines.go, sse.go, decoder.go: bytes to lines or events, and those to
//     messages, tolerant of everything servers write besides messages;
//   - writer.go, outbox.go: messages to bytes, where a peer that stops reading
//     blocks nobody: a pipe's, and HTTP's for what nobody waits for;
//   - session.go, frompeer.go: JSON-RPC 2.0, that is ids, correlation,
//     cancellation, requests and notifications of the peer;
//   - answers.go: the peer's requests while the caller answers them;
//   - process.go and its OS files, stdio.go: the child process, and the link over
//     its pipes;
//   - http*.go: the link over HTTP. http_exchange.go and http_events.go are one
//     request and its answer, http_redirect.go what it takes to send it,
//     http_params.go the headers that repeat its body, http_failures.go what HTTP
//     says instead of an answer, http_visit.go the sessions of the initialize era,
//     http_old.go the HTTP+SSE transport;
//   - client.go, handshake.go, list.go, subscribe*.go: an MCP client over a link,
//     whichever, both protocol eras: initialize (2024-11-05 ... 2025-11-25) and
//     server/discover (2026-07-28);
//   - server*.go: an MCP server, whose tools are a Handler's business.
//     server_request.go and server_answer.go read requests and write answers,
//     strictly; server_client.go and server_notify.go are what is kept of a client and
//     what it is told; server_channel.go, server_stdio.go and server_old.go serve
//     clients with one stream, that is stdio and HTTP+SSE; server_http.go,
//     server_headers.go, server_reply.go and server_stream.go serve Streamable HTTP,
//     server_guests.go and server_visit.go its sessions of the initialize era.
//
// Results, parameters and tool definitions are slices of the bytes the peer
// wrote. Arguments travel as the caller wrote them; line breaks between tokens
// alone become spaces, because a line is a message.
//
// The package never repeats a request that may have been served: only one that a
// server refused because it does not know the client's session any more, and once.
// It never judges content, schemas or annotations, and never restarts a server
// that had finished its handshake.
package mcp
