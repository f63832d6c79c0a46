package cli

import (
	"strconv"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// tokenBytes is how many bytes of tools' definitions make ten tokens. It is a mean:
// bench/tokens counts with the o200k vocabulary what real servers list and says how
// far from it each of them is. A tokenizer would make this program half as large
// again, and count for one family of models.
const tokenBytes = 46

// tokens is what a text costs a model, estimated.
func tokens(bytes int) int64 { return int64((10*bytes + tokenBytes - 1) / tokenBytes) }

// costs are estimated tokens.
type costs struct {
	tools  map[string]int64 // of each definition in a client's list, by name
	totals []total          // of everything that a client starts with
}

// total is the cost with all tools exposed in one way, those that are hidden apart.
type total struct {
	key, label string
	exposure   host.Exposure
	tokens     int64
}

// estimate looks at the listing's servers as a client would get them.
func estimate(h previewer, list *host.Listing) *costs {
	servers := make([]string, 0, len(list.Servers))
	for i := range list.Servers {
		servers = append(servers, list.Servers[i].Name)
	}
	c := &costs{tools: map[string]int64{}, totals: []total{
		{key: "configured", label: "as configured"},
		{key: "direct", label: "all direct", exposure: host.Direct},
		{key: "deferred", label: "all deferred", exposure: host.Deferred},
		{key: "codemode", label: "all codemode", exposure: host.Codemode},
	}}
	for name, definition := range h.Definitions(servers) {
		c.tools[name] = tokens(len(definition))
	}
	for i := range c.totals {
		prompt := h.Prompt(c.totals[i].exposure, servers)
		n := len(prompt.Instructions)
		for _, t := range prompt.Tools {
			n += len(t)
		}
		c.totals[i].tokens = tokens(n)
	}
	return c
}

func (c *costs) json() []byte {
	var o rawjson.Object
	o.Bool("estimated", true)
	for _, t := range c.totals {
		o.Int(t.key, t.tokens)
	}
	return o.Bytes()
}

func (c *costs) print(s *terminal.Streams) error {
	if _, err := s.Out.Write([]byte("\n")); err != nil {
		return err
	}
	rows := make([][]string, 0, len(c.totals))
	for _, t := range c.totals {
		rows = append(rows, []string{t.label, strconv.FormatInt(t.tokens, 10)})
	}
	if err := s.Table([]string{"A CLIENT'S PROMPT", "TOKENS"}, rows); err != nil {
		return err
	}
	s.Note("collet: tokens are estimated, %d.%d bytes to one", tokenBytes/10, tokenBytes%10)
	return nil
}
