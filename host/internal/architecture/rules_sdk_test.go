package architecture

// sdkRules are the lines of allowed for sdk.
var sdkRules = map[string]map[string]string{
	"sdk/adapter": {
		"sdk/adapterpb/v1":   "it serves the contract",
		"sdk/describe":       "it says what the plugin is",
		"sdk/failure":        "errors of authors become failures on the wire",
		"sdk/internal/child": "it runs in a process that a host started",
		"sdk/internal/codec": "results travel without copies",
		"sdk/internal/typed": "authors' Go types are schemas of configs, arguments and results",
		"sdk/internal/wire":  "cookie, lease and limits are shared with sdk/launch",
	},
	"sdk/adapterpb/v1": {},
	"sdk/adaptertest": {
		"sdk/adapterpb/v1":      "it speaks the contract",
		"sdk/adaptertest/check": "whether a plugin keeps it",
		"sdk/failure":           "what a plugin refuses is a failure",
		"sdk/launch":            "it starts plugins as a host does",
		"sdk/recording":         "golden transcripts are recordings",
	},
	"sdk/adaptertest/check": {
		"sdk/adapterpb/v1":     "it speaks the contract",
		"sdk/describe":         "describe and the RPC have to agree",
		"sdk/failure":          "faults have classes",
		"sdk/hookpb/v1":        "the second kind of plugin is held to its contract, too",
		"sdk/internal/excerpt": "it quotes what a plugin says",
		"sdk/internal/wire":    "it starts plugins below sdk/launch, too",
		"sdk/launch":           "it starts plugins as a host does",
		"sdk/mcp":              "its fake upstream is an MCP server",
	},
	"sdk/describe": {},
	"sdk/failure": {
		"sdk/adapterpb/v1":     "a failure travels as a detail of the contract",
		"sdk/internal/excerpt": "a failure has to fit into gRPC trailers",
	},
	"sdk/internal/child": {
		"sdk/internal/wire": "the cookie and the lease are shared with sdk/launch",
	},
	"sdk/internal/codec": {
		"sdk/adapterpb/v1": "it knows the message that a large result is in",
	},
	"sdk/internal/excerpt": {},
	"sdk/internal/typed": {
		"sdk/failure": "what does not fit is a problem of a failure",
	},
	"sdk/internal/wire": {},
	"sdk/hook": {
		"sdk/describe":       "it says what the hook is",
		"sdk/failure":        "what a hook refuses is a failure",
		"sdk/hookpb/v1":      "it serves the contract",
		"sdk/internal/child": "it runs in a process that a host started",
		"sdk/internal/typed": "authors' Go types are schemas of configs",
		"sdk/internal/wire":  "cookie and limits are shared with sdk/launch",
	},
	"sdk/hookpb/v1": {
		"sdk/adapterpb/v1": "a refusal is a failure, as in the contract of adapters",
	},
	"sdk/launch": {
		"sdk/adapterpb/v1":     "it hands out the client of the contract",
		"sdk/describe":         "it reads what a plugin says of itself",
		"sdk/failure":          "a process that does not start is a failure",
		"sdk/hookpb/v1":        "it hands out the client of the hooks' contract",
		"sdk/internal/codec":   "results travel without copies",
		"sdk/internal/excerpt": "failures quote what a plugin printed",
		"sdk/internal/wire":    "cookie, lease and limits are shared with sdk/adapter",
	},
	"sdk/mcp": {
		"sdk/failure":       "what went wrong on the wire, with delivery",
		"sdk/internal/wire": "an upstream's line has the limit of a message",
	},
	"sdk/recording": {
		"sdk/adapterpb/v1":     "it listens at a client of the contract",
		"sdk/failure":          "failures are written down",
		"sdk/internal/excerpt": "failures quote arguments",
		"sdk/internal/wire":    "a line holds the largest message",
	},
	"sdk/mcpadapter": {
		"sdk/adapter": "it implements adapter.Server",
		"sdk/failure": "it passes failures on with their delivery",
		"sdk/mcp":     "the upstream is an MCP client",
	},
	"sdk/examples/search": {
		"sdk/adapter": "it is an adapter",
		"sdk/failure": "what the service's answers mean",
	},
	"sdk/examples/hello": {
		"sdk/adapter": "the one package an author needs",
	},
	"sdk/internal/testhook": {
		"sdk/failure": "it refuses on demand",
		"sdk/hook":    "it is a hook that misbehaves on demand",
	},
	"sdk/internal/testadapter": {
		"sdk/adapterpb/v1":  "it breaks the contract on purpose, below sdk/adapter",
		"sdk/describe":      "what it says of itself, or lies",
		"sdk/failure":       "the one of its adapters that keeps the contract has failures",
		"sdk/internal/wire": "it has to get the cookie right first",
	},
	"sdk/internal/faultserver": {},
}
