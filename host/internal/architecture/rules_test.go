package architecture

// allowed says which packages of this repository each package may import, and
// why. It is exactly what the code does: an import without a line here fails the
// test, and so does a line without an import. Tests may import more, see
// TestEveryone. Paths are relative to the repository.
var allowed = map[string]map[string]string{
	"sdk/adapter": {
		"sdk/adapterpb/v1":   "it serves the contract",
		"sdk/describe":       "it says what the plugin is",
		"sdk/failure":        "errors of authors become failures on the wire",
		"sdk/internal/codec": "results travel without copies",
		"sdk/internal/wire":  "cookie, lease and limits are shared with sdk/launch",
	},
	"sdk/adapterpb/v1": {},
	"sdk/adaptertest": {
		"sdk/adapterpb/v1": "it speaks the contract",
		"sdk/failure":      "what a plugin refuses is a failure",
		"sdk/launch":       "it starts plugins as a host does",
	},
	"sdk/describe": {},
	"sdk/failure": {
		"sdk/adapterpb/v1":     "a failure travels as a detail of the contract",
		"sdk/internal/excerpt": "a failure has to fit into gRPC trailers",
	},
	"sdk/internal/codec": {
		"sdk/adapterpb/v1": "it knows the message that a large result is in",
	},
	"sdk/internal/excerpt": {},
	"sdk/internal/wire":    {},
	"sdk/launch": {
		"sdk/adapterpb/v1":     "it hands out the client of the contract",
		"sdk/describe":         "it reads what a plugin says of itself",
		"sdk/failure":          "a process that does not start is a failure",
		"sdk/internal/codec":   "results travel without copies",
		"sdk/internal/excerpt": "failures quote what a plugin printed",
		"sdk/internal/wire":    "cookie, lease and limits are shared with sdk/adapter",
	},
	"sdk/mcp": {
		"sdk/failure":       "what went wrong on the wire, with delivery",
		"sdk/internal/wire": "an upstream's line has the limit of a message",
	},
	"sdk/mcpadapter": {
		"sdk/adapter": "it implements adapter.Server",
		"sdk/failure": "it passes failures on with their delivery",
		"sdk/mcp":     "the upstream is an MCP client",
	},
	"sdk/examples/hello": {
		"sdk/adapter": "the one package an author needs",
	},
	"sdk/internal/testadapter": {
		"sdk/adapterpb/v1":  "it breaks the contract on purpose, below sdk/adapter",
		"sdk/internal/wire": "it has to get the cookie right first",
	},
	"sdk/internal/faultserver": {},
	"sdk/internal/conformanceclient": {
		"sdk/failure": "it refuses what it cannot answer",
		"sdk/mcp":     "it is what the conformance suite tests",
	},

	"plugins/azure": {
		"plugins/azure/internal/learn": "what it serves",
		"sdk/adapter":                  "it is a plugin",
		"sdk/failure":                  "a config it cannot serve is a failure with a problem",
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

	"host": {
		"host/internal/front/guard":           "it stands before the HTTP face, and says who a client is",
		"host/internal/front/guard/oidc":      "tokens of an issuer",
		"host/internal/front/guard/tokenfile": "tokens of files",
		"host/internal/front/mcp":             "Front is its face",
		"host/internal/audit":                 "a record of every call",
		"host/internal/call":                  "every call is the pipeline's",
		"host/internal/catalog":               "what it lists",
		"host/internal/codemode/declare":      "tools as TypeScript",
		"host/internal/config":                "it reads mcp.toml",
		"host/internal/consent":               "it says where answers are kept",
		"host/internal/exposure":              "who may see what it lists",
		"host/internal/hub":                   "it owns the servers",
		"host/internal/layer":                 "it finds the configuration of who names none",
		"host/internal/logfile":               "a diagnosis shows the end of a server's log",
		"host/internal/name":                  "patterns and near misses of queries",
		"host/internal/plugins":               "it says where plugins are looked for",
		"host/internal/reload":                "it follows its configuration files",
		"host/internal/results":               "what was too large for a model is read back",
		"host/internal/schema":                "a tool that no host made says whether its schema can be checked",
		"host/internal/server":                "states and failures of servers are part of its answers",
		"host/internal/snapshot":              "it says where snapshots are kept",
		"host/internal/telemetry":             "OpenTelemetry is told of calls",
		"host/internal/trust":                 "it says where the trusted files are listed",
		"sdk/failure":                         "a diagnosis weighs classes of failures",
		"sdk/launch":                          "a diagnosis tries the directory of sockets",
		"sdk/mcp":                             "a diagnosis looks a command up by the client's own rule",
		"host/internal/codemode":              "it runs scripts",
		"host/internal/codemode/child":        "a program that runs scripts is a script's process, too",
		"host/internal/rawjson":               "answers to scripts are JSON around what others wrote",
		"host/internal/search":                "searchTools of scripts",
	},
	"host/cmd/collet": {
		"host/internal/cli": "the main package of the CLI",
	},
	"host/internal/architecture": {},
	"host/internal/audit": {
		"host/internal/logfile": "its lines go to a file that is rotated",
		"host/internal/rawjson": "arguments are written as they were",
	},
	"host/internal/call": {
		"host/internal/catalog":  "the tool it calls, with its compiled schemas",
		"host/internal/config":   "timeouts, retry and consent of the tool's server",
		"host/internal/consent":  "who agreed to which calls",
		"host/internal/exposure": "whether this caller may call",
		"host/internal/name":     "the split of a canonical name",
		"host/internal/rawjson":  "answers to models are JSON around text",
		"host/internal/results":  "what is over budget is kept, and its beginning shown",
		"host/internal/server":   "the step that reaches the adapter",
		"sdk/failure":            "every error it returns is one",
	},
	"host/internal/consent": {
		"host/internal/lockfile": "processes add to the file one at a time",
		"host/internal/name":     "revocations name tools by patterns",
		"host/internal/statedir": "nobody else may write a consent",
	},
	"host/internal/catalog": {
		"host/internal/name":   "canonical and wire names of tools",
		"host/internal/schema": "tools carry compiled schemas",
	},
	"host/internal/cli": {
		"host":                       "the CLI is a face of the public API",
		"host/internal/clientedit":   "connect puts collet into the files of other clients",
		"host/internal/clientfile":   "config import reads the files of other clients",
		"host/internal/configedit":   "config import adds to mcp.toml",
		"host/internal/cli/argument": "key=value becomes JSON arguments",
		"host/internal/cli/content":  "results are printed as text",
		"host/internal/rawjson":      "the --json envelope",
		"host/internal/results":      "results read takes lines as the tool does",
		"host/internal/rewrite":      "connect replaces a client's file, and keeps the old one",
		"host/internal/cli/terminal": "colour, width and the spinner",
		"host/internal/config":       "config show and config schema print what the loader knows",
		"host/internal/layer":        "where configuration is looked for, and what trust is about",
		"host/internal/logfile":      "servers logs reads the file, the host need not run",
		"host/internal/name":         "near misses of what was typed",
		"sdk/failure":                "exit codes follow from classes",
	},
	"host/internal/cli/argument": {
		"host/internal/rawjson": "arguments are written, not encoded",
		"sdk/failure":           "a bad argument has a problem with a pointer",
	},
	"host/internal/cli/content":  {},
	"host/internal/cli/terminal": {},
	"host/internal/codemode/declare": {
		"host/internal/name": "identifiers, and the names behind them",
	},
	"host/internal/codemode": {
		"host/internal/codemode/wire": "it speaks to the process of a script",
		"host/internal/rawjson":       "results are unwrapped, not decoded",
	},
	"host/internal/codemode/child": {
		"host/internal/codemode/wire": "it speaks to the host",
		"host/internal/name":          "similar names in errors",
	},
	"host/internal/codemode/child/process": {
		"host/internal/codemode/child": "the main package of what tests start",
	},
	"host/internal/codemode/wire": {},
	"host/internal/config": {
		"host/internal/exposure": "exposure words and patterns are parsed as they are read",
		"host/internal/name":     "the grammar of server names, and the nearest valid key",
	},
	"host/internal/clientedit": {
		"host/internal/clientfile": "what is in a file, and whether a change is read back",
		"host/internal/config":     "where the statements of TOML stand",
		"host/internal/rawjson":    "keys and strings of JSON are written in one place",
		"host/internal/rawtoml":    "keys and strings of TOML, too",
	},
	"host/internal/clientfile": {
		"host/internal/config": "TOML is read in one place",
	},
	"host/internal/configedit": {
		"host/internal/clientfile": "the servers it adds",
		"host/internal/config":     "what is there already, and whether an addition would be read back",
		"host/internal/exposure":   "tools that a client did not have are hidden",
		"host/internal/name":       "the grammar of server names",
		"host/internal/rawtoml":    "it writes keys and strings",
		"host/internal/rewrite":    "a file is replaced at once",
	},
	"host/internal/exposure": {
		"host/internal/name": "patterns match names",
	},
	"host/internal/front/mcp": {
		"host/internal/call":             "requests and failures of the one pipeline",
		"host/internal/catalog":          "it lists definitions as they were written",
		"host/internal/codemode":         "outcomes of scripts, and what they store",
		"host/internal/codemode/declare": "a search tells what scripts can call as TypeScript",
		"host/internal/exposure":         "what a model may see and call",
		"host/internal/name":             "prompts are spelled like tools; similar names",
		"host/internal/rawjson":          "it writes results around what others wrote",
		"host/internal/results":          "result_read",
		"host/internal/schema":           "what is nested too deep to be checked is not listed either",
		"host/internal/search":           "tool_search",
		"sdk/failure":                    "a failure's class as a JSON-RPC code",
		"sdk/mcp":                        "it is a handler of the server half",
	},
	"host/internal/front/guard": {
		"host/internal/exposure": "a principal has a ceiling",
		"host/internal/name":     "grants are globs of names",
	},
	"host/internal/front/guard/oidc": {
		"host/internal/front/guard": "it is an Authenticator, and says whose a token is",
	},
	"host/internal/front/guard/tokenfile": {
		"host/internal/exposure":    "a token has a ceiling",
		"host/internal/front/guard": "it is an Authenticator, and says whose a token is",
		"host/internal/name":        "near misses of keys",
	},
	"host/internal/hub": {
		"host/internal/catalog":  "it merges the catalogs of all servers",
		"host/internal/config":   "which servers there are",
		"host/internal/exposure": "a catalog has its exposures",
		"host/internal/name":     "it routes by name",
		"host/internal/server":   "it owns them",
		"host/internal/snapshot": "names without prefix are kept for the next start",
		"sdk/failure":            "why a server is missing",
		"host/internal/schema":   "all servers share the compiled schemas of plugins",
	},
	"host/internal/layer": {
		"host/internal/config": "what it finds are the sources that config merges",
		"host/internal/trust":  "a project's file counts when it is trusted",
	},
	"host/internal/lockfile": {},
	"host/internal/logfile": {
		"host/internal/lockfile": "processes that share a log rotate it one at a time",
	},
	"host/internal/name": {},
	"host/internal/plugins": {
		"host/internal/name": "near misses of a plugin's name",
		"sdk/describe":       "descriptions are cached",
		"sdk/failure":        "a plugin that is missing is a failure",
		"sdk/launch":         "describing means running it",
	},
	"host/internal/rawjson": {},
	"host/internal/rawtoml": {},
	"host/internal/rewrite": {},
	"host/internal/reload":  {},
	"host/internal/results": {
		"host/internal/lockfile": "processes make room one at a time",
		"host/internal/rawjson":  "parts of results are written as JSON",
		"host/internal/statedir": "nobody else puts results into its directory",
		"sdk/failure":            "why a part cannot be read has a class",
	},
	"host/internal/schema": {
		"host/internal/name": "near misses of a property's name",
		"sdk/failure":        "what breaks a rule is a failure.Problem",
	},
	"host/internal/search": {
		"host/internal/name": "a query may be a canonical name",
	},
	"host/internal/server": {
		"host/internal/catalog":  "it turns listed tools into its part of the catalog",
		"host/internal/config":   "its settings",
		"host/internal/logfile":  "the server's log",
		"host/internal/plugins":  "it finds and describes its plugin",
		"host/internal/schema":   "the plugin's config schema",
		"host/internal/snapshot": "what it offers is kept for the next start",
		"sdk/adapterpb/v1":       "it speaks the contract",
		"sdk/describe":           "the plugin's own defaults",
		"sdk/failure":            "why a server or a call failed",
		"sdk/launch":             "it starts the adapter",
	},
	"host/internal/snapshot": {
		"host/internal/catalog":  "tools are kept as they were offered",
		"host/internal/statedir": "nobody else puts snapshots into its directory",
	},
	"host/internal/statedir": {},
	"host/internal/telemetry": {
		"host/internal/call":     "it follows the calls of the pipeline",
		"host/internal/exposure": "a model's calls came by MCP",
		"host/internal/rawjson":  "the trace goes on in _meta, whose other bytes stay",
	},
	"host/internal/trust": {
		"host/internal/lockfile": "processes change the list one at a time",
	},

	"bench": {
		"bench/internal/bare": "the floors",
		"bench/internal/load": "what is carried",
		"sdk/mcp":             "what ten thousand sessions cost, with nothing behind them",
		"host":                "what is measured, as a program uses it",
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
	"bench/internal/scriptserver": {},
	"bench/internal/sdkclient":    {},
	"bench/internal/sdkproxy":     {},
	"bench/tokens": {
		"sdk/mcp": "it is a client of collet serve",
	},
}

// restricted says who alone may import a package from outside, tests apart, and
// why. A name stands for itself and what lies below it; an importer only with /...
var restricted = map[string]struct {
	importers []string
	why       string
}{
	"github.com/hashicorp/go-plugin": {
		[]string{"sdk/adapter", "sdk/hook", "sdk/launch", "sdk/internal/testadapter", "bench/internal/..."},
		"the process boundary lies in the SDK alone; a floor needs go-plugin without it",
	},
	"github.com/santhosh-tekuri/jsonschema": {
		[]string{"host/internal/schema"}, "schemas of strangers are compiled within bounds, in one place",
	},
	"github.com/BurntSushi/toml":   {[]string{"host/internal/config", "host/internal/front/guard/tokenfile"}, "mcp.toml is read in one place; a file of tokens is no mcp.toml"},
	"github.com/spf13/cobra":       {[]string{"host/internal/cli/..."}, "commands are the CLI's"},
	"golang.org/x/term":            {[]string{"host/internal/cli/..."}, "only the CLI knows of terminals"},
	"github.com/go-jose/go-jose":   {[]string{"host/internal/front/guard/oidc"}, "tokens of issuers are verified in one place"},
	"github.com/fsnotify/fsnotify": {[]string{"host/internal/reload"}, "what it leaves open about directories and links is closed in one place"},
	"github.com/kljensen/snowball": {[]string{"host/internal/search"}, "words are stemmed where they are compared"},
	"modernc.org/quickjs":          {[]string{"host/internal/codemode/child"}, "scripts are evaluated in processes of their own"},
	"github.com/evanw/esbuild":     {[]string{"host/internal/codemode/child"}, "the sources of strangers are parsed where that can hurt nobody"},
	"go.opentelemetry.io":          {[]string{"host", "host/internal/telemetry"}, "what is told of calls is decided in one place; a program brings its own through Options"},
	"github.com/adrg/xdg":          {[]string{"host", "host/internal/cli/..."}, "directories are decided at the edge and handed in"},
}

// pure packages reach none of these, not even through what they import.
var (
	pure      = []string{"host/internal/name", "host/internal/exposure", "host/internal/config", "host/internal/clientfile", "host/internal/codemode/declare", "host/internal/search"}
	impure    = []string{"net", "net/http", "os/exec", "os/signal", "google.golang.org/grpc"}
	withFiles = []string{"host/internal/config"} // the others do not import os either
)
