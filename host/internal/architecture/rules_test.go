package architecture

import "maps"

// allowed says which packages of this repository each package may import, and
// why. It is exactly what the code does: an import without a line here fails the
// test, and so does a line without an import. Tests may import more, see
// TestEveryone. Paths are relative to the repository.
var allowed = func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, rules := range []map[string]map[string]string{sdkRules, pluginsRules, hostRules, benchRules, attestRules} {
		maps.Copy(all, rules)
	}
	return all
}()

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
	"github.com/BurntSushi/toml":    {[]string{"host/internal/config", "host/internal/front/guard/tokenfile"}, "mcp.toml is read in one place; a file of tokens is no mcp.toml"},
	"github.com/spf13/cobra":        {[]string{"host/internal/cli/...", "host/cmd/pages"}, "commands are the CLI's; their pages are written elsewhere"},
	"golang.org/x/term":             {[]string{"host/internal/cli/..."}, "only the CLI knows of terminals"},
	"github.com/go-jose/go-jose":    {[]string{"host/internal/front/guard/oidc"}, "tokens of issuers are verified in one place"},
	"github.com/fsnotify/fsnotify":  {[]string{"host/internal/reload"}, "what it leaves open about directories and links is closed in one place"},
	"github.com/kljensen/snowball":  {[]string{"host/internal/search"}, "words are stemmed where they are compared"},
	"modernc.org/quickjs":           {[]string{"host/internal/codemode/child"}, "scripts are evaluated in processes of their own"},
	"github.com/evanw/esbuild":      {[]string{"host/internal/codemode/child"}, "the sources of strangers are parsed where that can hurt nobody"},
	"go.opentelemetry.io":           {[]string{"host", "host/internal/telemetry"}, "what is told of calls is decided in one place; a program brings its own through Options"},
	"github.com/zalando/go-keyring": {[]string{"host/internal/credential/store"}, "secrets are kept in one place"},
	"golang.org/x/oauth2":           {[]string{"host/internal/credential/..."}, "tokens come about in one place"},
	"github.com/sigstore":           {[]string{"attest/internal/provenance"}, "what verifies bundles is no part of collet: it is large, and slow to start"},
	"github.com/adrg/xdg":           {[]string{"host", "host/internal/cli/..."}, "directories are decided at the edge and handed in"},
}

// pure packages reach none of these, not even through what they import.
var (
	pure      = []string{"host/internal/name", "host/internal/exposure", "host/internal/config", "host/internal/clientfile", "host/internal/codemode/declare", "host/internal/search"}
	impure    = []string{"net", "net/http", "os/exec", "os/signal", "google.golang.org/grpc"}
	withFiles = []string{"host/internal/config"} // the others do not import os either
)
