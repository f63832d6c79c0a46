package name

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxWire is the longest wire name in bytes: what the APIs of model vendors take
// (MCP 2026-07-28 server/tools would allow 128 and dots; they do not).
const MaxWire = 64

// hashDigits is the length of the mark of an altered name, without its "_".
const hashDigits = 8

// The tools the host itself offers to model clients (docs/architecture.md).
const (
	ToolSearch = "tool_search"
	ToolCall   = "tool_call"
	CodeMode   = "codemode"
	ResultRead = "result_read"
)

// Reserved reports whether a wire name belongs to a tool of the host itself, in
// any case. No wire name made by Wire or Plain is reserved.
func Reserved(wire string) bool {
	switch strings.ToLower(wire) {
	case ToolSearch, ToolCall, CodeMode, ResultRead:
		return true
	}
	return false
}

// Wire returns the wire name of a server's tool, "server__tool": 1 to 64 of
// [A-Za-z0-9_-]. It depends on these two names alone, never on which other tools
// exist, so it is the same in every list and after every restart.
//
// A name with other characters, or longer than 64, is altered: "_" for each such
// character, cut to 55, then "_" and the first 8 hex digits of the SHA-256 of the
// canonical name. A name that would fit as it is but already ends like that
// ("report_20240131" does) is altered too, since only then can no unaltered name
// ever equal an altered one. With names that CheckServer allows, wire names of
// different servers always differ; two altered tools of one server could meet in
// a collision of 32 bits, which Table detects.
//
// Case is kept: the tools Read and read of one server have wire names that differ
// only in case, as MCP allows. For a client that ignores case they are one name;
// altered names are different even there, and unaltered ones never equal them.
func Wire(server, tool string) string {
	return spell(server+"__"+tool, Join(server, tool), tool == "")
}

// Plain returns the wire name of a tool in a host that puts no prefix before
// names: the tool's own name where it can be one. It is altered by the rules of
// Wire, and when it is the name of one of the host's own tools; the hash is that
// of the tool's name, which in such a host is the whole name.
func Plain(tool string) string {
	return spell(tool, tool, tool == "" || Reserved(tool))
}

// spell returns want, or its altered form when it is no wire name or must is set.
func spell(want, hashed string, must bool) string {
	if !must && fits(want) && !marked(want) {
		return want
	}
	const head = MaxWire - 1 - hashDigits
	var b strings.Builder
	for _, r := range want { // an invalid byte is one replacement character
		if b.Len() == head {
			break
		}
		if !isWire(r) {
			r = '_'
		}
		b.WriteByte(byte(r))
	}
	sum := sha256.Sum256([]byte(hashed))
	b.WriteByte('_')
	b.WriteString(hex.EncodeToString(sum[:])[:hashDigits])
	return b.String()
}

// fits reports whether s can be a wire name as it is.
func fits(s string) bool {
	return s != "" && len(s) <= MaxWire && strings.IndexFunc(s, func(r rune) bool { return !isWire(r) }) < 0
}

// marked reports whether s ends as an altered name does. Capital digits count:
// then the promise also holds for a client that ignores case.
func marked(s string) bool {
	i := len(s) - hashDigits - 1
	if i < 0 || s[i] != '_' {
		return false
	}
	_, err := hex.DecodeString(s[i+1:])
	return err == nil
}
