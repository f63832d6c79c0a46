package architecture

// benchRules are the lines of allowed for bench.
var benchRules = map[string]map[string]string{
	"bench": {
		"bench/internal/bare":    "the floors",
		"bench/internal/load":    "what is carried",
		"bench/internal/machine": "what the page of results begins with",
		"bench/internal/proc":    "memory of processes",
		"sdk/mcp":                "what ten thousand sessions cost, with nothing behind them",
		"host":                   "what is measured, as a program uses it",
	},
	"bench/internal/bare": {
		"sdk/adapterpb/v1": "a bare call has the shape of the contract's",
	},
	"bench/internal/bareplugin": {
		"bench/internal/bare": "both ends of the bare plugin have the same options",
		"bench/internal/load": "it answers with the same bytes as the echo server",
		"sdk/adapterpb/v1":    "it serves the contract without the SDK",
	},
	"bench/internal/echoserver": {
		"bench/internal/load": "it answers with the same bytes as the bare plugin",
	},
	"bench/internal/load":         {},
	"bench/internal/machine":      {},
	"bench/internal/proc":         {},
	"bench/internal/scriptserver": {},
	"bench/internal/sdkclient":    {},
	"bench/internal/sdkproxy":     {},
	"bench/peers": {
		"bench/internal/load":    "what is carried",
		"bench/internal/machine": "what the page of results begins with",
		"bench/internal/proc":    "which processes a program has left, and their memory",
		"sdk/mcp":                "it is a client of each program",
	},
	"bench/tokens": {
		"sdk/mcp": "it is a client of collet serve",
	},
}
