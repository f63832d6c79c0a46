// Package wire holds the numbers and names on which the host's and the
// adapter's end of one process boundary must agree. It holds no code, so that
// neither end can grow behaviour the other does not know of.
package wire

// ProtocolVersion is go-plugin's protocol number for collet.adapter.v1. The
// two change together (docs/contract.md, rule 1).
const ProtocolVersion = 1

// The magic cookie proves to a plugin that a collet host started it. It is no
// secret: it only keeps people from running a plugin by hand and wondering why
// it prints a handshake.
const (
	CookieKey   = "COLLET_PLUGIN"
	CookieValue = "adapter.v1"
	// HookCookieValue is that of the second kind of plugin, collet.hook.v1.
	HookCookieValue = "hook.v1"
)

// The one name in go-plugin's plugin set on both ends, by the kind of plugin.
const (
	PluginName = "adapter"
	HookName   = "hook"
)

// MaxMessage bounds one gRPC message, in bytes, on all four ends: adapter
// server, host client, brokered Host server, and its client in the adapter. It
// exceeds MaxLine so that any line an upstream may send fits in one message.
const MaxMessage = 65 << 20

// MaxLine bounds one JSON-RPC message of an upstream, in bytes.
const MaxLine = 64 << 20

// LeaseEnv tells the adapter, by the value LeaseStdin, that its stdin is a pipe
// whose other end the host holds and never writes to: end of file there means
// the host is gone, however it died, and the adapter must leave.
const (
	LeaseEnv   = "COLLET_LEASE"
	LeaseStdin = "stdin"
)

// ReattachEnv lets a person run an adapter under a debugger: it maps a server's
// name to the go-plugin reattach data that the adapter printed under -debug,
// as one JSON object.
const ReattachEnv = "COLLET_REATTACH"
