package architecture

// pluginsRules are the lines of allowed for plugins.
var pluginsRules = map[string]map[string]string{
	"plugins/azure": {
		"plugins/azure/internal/azmcp": "what it serves of Azure",
		"plugins/azure/internal/learn": "what it serves of the documentation",
		"sdk/adapter":                  "it is a plugin",
		"sdk/failure":                  "a config it cannot serve is a failure with a problem",
		"sdk/mcp":                      "it says which versions it speaks",
		"sdk/mcpadapter":               "it joins both",
	},
	"plugins/azure/internal/azmcp": {
		"sdk/adapter":    "tools are edited, calls admitted, results judged",
		"sdk/failure":    "texts that are failures become some",
		"sdk/mcp":        "it starts the server",
		"sdk/mcpadapter": "it says what is known of it",
	},
	"plugins/azure/internal/fakelearn": {},
	"plugins/azure/internal/learn": {
		"sdk/adapter":    "tools are made of functions",
		"sdk/failure":    "what Learn refuses decides on the answer",
		"sdk/mcp":        "Learn is an MCP server",
		"sdk/mcpadapter": "it serves Learn's tools",
	},
	"plugins/context7": {
		"plugins/context7/internal/api":   "where its answers come from",
		"plugins/context7/internal/cache": "answers are kept",
		"plugins/context7/internal/npm":   "the other upstream",
		"plugins/context7/internal/tools": "what it offers",
		"sdk/adapter":                     "it is a plugin",
		"sdk/failure":                     "a config it cannot serve is a failure with a problem",
	},
	"plugins/context7/internal/api": {
		"plugins/context7/internal/cache":   "answers are kept",
		"plugins/context7/internal/library": "it is a source",
		"sdk/failure":                       "what the API refuses has a class",
	},
	"plugins/context7/internal/cache":   {},
	"plugins/context7/internal/fakeapi": {},
	"plugins/context7/internal/library": {},
	"plugins/context7/internal/npm": {
		"plugins/context7/internal/api":     "what to do about a refused key is said in one place",
		"plugins/context7/internal/library": "it is a source",
		"plugins/context7/internal/tools":   "lookup over the server's tools",
		"sdk/adapter":                       "it is served like any other",
		"sdk/failure":                       "texts that are failures become some",
		"sdk/mcp":                           "it starts the server",
		"sdk/mcpadapter":                    "it serves it",
	},
	"plugins/context7/internal/rank": {
		"plugins/context7/internal/library": "what it ranks",
	},
	"plugins/context7/internal/tools": {
		"plugins/context7/internal/library": "where answers come from is another's business",
		"plugins/context7/internal/rank":    "lookup picks one library",
		"sdk/adapter":                       "tools are made of functions",
		"sdk/failure":                       "lookup says when to ask again",
	},
	"plugins/github": {
		"plugins/github/internal/push":  "push_directory",
		"plugins/github/internal/tree":  "what is there to push",
		"plugins/github/internal/reach": "what it may touch",
		"plugins/github/internal/token": "each request has a token of its own",
		"plugins/github/internal/truth": "what the server says in prose",
		"sdk/adapter":                   "it is a plugin",
		"sdk/failure":                   "a config it cannot serve is a failure with a problem",
		"sdk/mcp":                       "it reaches or starts GitHub's server",
		"sdk/mcpadapter":                "it serves that, shaped",
	},
	"plugins/github/internal/fakegithub": {},
	"plugins/github/internal/ignore":     {},
	"plugins/github/internal/push": {
		"plugins/github/internal/tree": "what it pushes",
		"sdk/failure":                  "whether a push may have arrived",
	},
	"plugins/github/internal/randomtree": {},
	"plugins/github/internal/reach": {
		"sdk/failure": "a call it refuses is one",
	},
	"plugins/github/internal/token": {
		"sdk/failure": "no token is a failure that says how to get one",
	},
	"plugins/github/internal/tree": {
		"plugins/github/internal/ignore": "what git would leave out",
		"sdk/failure":                    "a directory it does not read is refused",
	},
	"plugins/github/internal/truth": {
		"sdk/failure": "prose becomes failures",
	},

	"plugins/mcp": {
		"plugins/mcp/internal/oneproc": "it hands calls on, which one processor does best",
		"sdk/adapter":                  "it is a plugin",
		"sdk/failure":                  "a config it cannot serve is a failure with a problem",
		"sdk/mcp":                      "it starts MCP servers",
		"sdk/mcpadapter":               "it serves them",
	},
	"plugins/mcp/internal/oneproc": {},

	"plugins/replay": {
		"plugins/replay/internal/player": "what it serves",
		"sdk/adapter":                    "it is a plugin",
		"sdk/failure":                    "a config it cannot serve is a failure with a problem",
		"sdk/recording":                  "it reads the file",
	},
	"plugins/replay/internal/player": {
		"sdk/adapter":   "it implements adapter.Server",
		"sdk/failure":   "failures are played, too",
		"sdk/recording": "what it plays",
	},

	"plugins/websearch": {
		"plugins/websearch/internal/chain":    "who is asked, and the form of what was found",
		"plugins/websearch/internal/guard":    "what fetch may reach",
		"plugins/websearch/internal/page":     "fetch reads pages",
		"plugins/websearch/internal/provider": "it opens the services of its config",
		"sdk/adapter":                         "it is a plugin",
		"sdk/failure":                         "what it cannot do has a class",
		"sdk/mcp":                             "it says who it is to MCP servers, and where they are",
		"sdk/mcpadapter":                      "results say that strangers wrote them",
	},
	"plugins/websearch/internal/chain": {
		"plugins/websearch/internal/plaintext": "titles and snippets are text",
		"plugins/websearch/internal/provider":  "whom it asks",
		"sdk/failure":                          "a search at which nobody answered is a failure",
	},
	"plugins/websearch/internal/fakesearch": {},
	"plugins/websearch/internal/guard":      {},
	"plugins/websearch/internal/page": {
		"plugins/websearch/internal/guard":     "URLs are checked before anything else",
		"plugins/websearch/internal/plaintext": "titles are text",
		"sdk/failure":                          "a page that cannot be reached is a failure",
	},
	"plugins/websearch/internal/plaintext": {},
	"plugins/websearch/internal/provider": {
		"sdk/failure": "what a service says instead of an answer",
		"sdk/mcp":     "some search servers speak MCP",
	},

	"plugins/workiq": {
		"plugins/workiq/internal/truth": "what the server says in prose",
		"sdk/adapter":                   "it is a plugin",
		"sdk/failure":                   "a licence that nobody accepted is a failure",
		"sdk/mcp":                       "it starts Work IQ's server",
		"sdk/mcpadapter":                "it serves that, shaped",
	},
	"plugins/workiq/internal/fakeworkiq": {},
	"plugins/workiq/internal/truth": {
		"sdk/failure": "prose becomes failures",
	},
	"plugins/ratelimit": {
		"sdk/failure": "what is too often is a failure",
		"sdk/hook":    "it is a hook",
	},
	"plugins/secretscan": {
		"sdk/failure": "what it refuses is a failure",
		"sdk/hook":    "it is a hook",
	},
}
