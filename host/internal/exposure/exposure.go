// Package exposure decides what each caller may see and call: a tool's exposure
// from a server's rules, and from it the answer to "is it listed", "does a search
// find it" and "may it be called this way". The table of docs/architecture.md is in
// access.go.
//
// It is pure: it knows no server and no catalog, it never filters lists and never
// makes failures of refusals; whoever asks does.
package exposure

import (
	"fmt"

	"github.com/collet-dev/collet/host/internal/name"
)

// Exposure says who may see and call a tool. Anything but the four values is
// taken as Hidden.
type Exposure string

// The exposures, from the most to the least seen.
const (
	Direct   Exposure = "direct"   // in the model's list of tools, under its own name
	Deferred Exposure = "deferred" // found with tool_search, called with tool_call
	Codemode Exposure = "codemode" // found with tool_search, called from scripts only
	Hidden   Exposure = "hidden"   // as if it did not exist, for every caller
)

// Default is the exposure of a server that says nothing.
const Default = Codemode

// words are what mcp.toml and --exposure take for exposures.
var words = map[string]Exposure{
	"direct":            Direct,
	"deferred":          Deferred,
	"codemode":          Codemode,
	"codemode-deferred": Codemode, // the long name that other hosts use
	"hidden":            Hidden,
}

// Parse returns the exposure that a word of mcp.toml or a flag means; the
// error names the words there are. "codemode-deferred" is an alias of codemode.
func Parse(word string) (Exposure, error) {
	e, ok := words[word]
	if !ok {
		return "", fmt.Errorf("%q is no exposure; use direct, deferred, codemode or hidden", word)
	}
	return e, nil
}

// Pattern gives the tools it matches an exposure. Pattern is a tool's name (without
// its server) or a glob by the rules of name.Match: "*" also matches "/".
type Pattern struct {
	Pattern  string
	Exposure Exposure
}

// Rules are one server's exposure settings. The zero value gives every tool the
// Default.
type Rules struct {
	Default Exposure  // empty: the package's Default
	Tools   []Pattern // in file order
}

// Of returns the exposure of the server's tool of that name: that of the pattern
// that is the name itself, wherever it stands, else of the first glob that matches.
func (r Rules) Of(tool string) Exposure {
	for _, p := range r.Tools {
		if p.Pattern == tool {
			return p.Exposure
		}
	}
	for _, p := range r.Tools {
		if name.Match(p.Pattern, tool) {
			return p.Exposure
		}
	}
	if r.Default == "" {
		return Default
	}
	return r.Default
}
