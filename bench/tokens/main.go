// Command tokens counts what the tools of real servers cost a model, through collet's
// own MCP face: what a client's prompt starts with when all tools are direct,
// deferred or for scripts, and what a search costs on top. It prints the tables of
// its README.
//
// It counts with the o200k vocabulary and calls no model. What a model writes and reads
// of results is in the figures of one task alone, which is done both ways (walk.go).
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tiktoken-go/tokenizer"

	"github.com/collet-dev/collet/sdk/mcp"
)

//go:embed servers.toml
var servers string

// exposures are the columns, in their order.
var exposures = []string{"direct", "deferred", "codemode"}

// tasks are what a model looks for, one or two for each server, in words of people
// who do not know the tools.
var tasks = []string{
	"read a text file", "replace some lines in a file", "remember that Ada works for Acme",
	"take a screenshot of a web page", "fill in a form on a website", "add two numbers",
	"list storage accounts", "run a query against a Cosmos DB container", "show the secrets of a key vault",
	"documentation of a library", "search pages in Notion", "add a comment to a page",
}

func main() {
	bin := flag.String("bin", "bin", "the directory of collet and collet-plugin-mcp")
	npm := flag.String("npm", ".cache/tokens", "the directory that the packages of bench/tokens/npm are installed in")
	wait := flag.Duration("wait", 2*time.Minute, "how long the servers have to start")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *bin, *npm, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, npm string, wait time.Duration) error {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "collet-tokens")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bench := bench{dir: dir, wait: wait, count: codec.Count}
	if bench.collet, err = filepath.Abs(filepath.Join(bin, "collet")); err != nil {
		return err
	}
	if bench.programs, err = filepath.Abs(filepath.Join(npm, "node_modules", ".bin")); err != nil {
		return err
	}
	var all []prompt
	for _, exposure := range exposures {
		p, err := bench.measure(ctx, exposure, servers)
		if err != nil {
			return fmt.Errorf("%s: %w", exposure, err)
		}
		all = append(all, p)
	}
	if err := report(os.Stdout, all, codec.Count); err != nil {
		return err
	}
	sums, err := bench.adapted(ctx)
	if err != nil {
		return fmt.Errorf("adapters: %w", err)
	}
	if err := reportAdapters(os.Stdout, sums); err != nil {
		return err
	}
	tasks, err := bench.walk(ctx)
	if err != nil {
		return fmt.Errorf("walk: %w", err)
	}
	return reportWalk(os.Stdout, tasks)
}

// bench is what every measurement shares.
type bench struct {
	collet, programs, dir string
	wait                  time.Duration
	count                 func(string) (int, error)
}

// prompt is what a client gets with all tools exposed in one way.
type prompt struct {
	exposure     string
	tools        []tool // of the list
	instructions string
	searches     []int // tokens of the answers to tasks
}

// tool is a definition in the list, and what reaches a model of it.
type tool struct{ name, whole, text string }

// measure starts collet serve twice: the first client waits for every one of servers,
// the second gets at once what is known from then on.
func (b *bench) measure(ctx context.Context, exposure, servers string) (p prompt, err error) {
	config := filepath.Join(b.dir, exposure+".toml")
	text := fmt.Sprintf("[host]\nexposure = %q\nconnect_wait = %q\nresponse_budget = \"4MiB\"\n\n", exposure, b.wait) + servers
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return p, err
	}
	p.exposure = exposure
	first, err := b.start(ctx, config)
	if err != nil {
		return p, err
	}
	if _, err = first.ListTools(ctx); err == nil {
		err = missing(ctx, first, servers)
	}
	if err = errors.Join(err, end(first)); err != nil {
		return p, err
	}
	client, err := b.start(ctx, config)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, end(client)) }()
	list, err := client.ListTools(ctx)
	if err != nil {
		return p, err
	}
	for _, raw := range list {
		p.tools = append(p.tools, tool{gjson.GetBytes(raw, "name").String(), string(raw), forModel(raw)})
	}
	p.instructions = client.Server().Instructions
	if exposure == "direct" {
		return p, nil
	}
	for _, task := range tasks {
		answer, err := search(ctx, client, task)
		if err != nil {
			return p, err
		}
		n, err := b.count(answer)
		if err != nil {
			return p, err
		}
		p.searches = append(p.searches, n)
	}
	return p, nil
}

// start starts collet serve as a client does, with state of this run's own.
func (b *bench) start(ctx context.Context, config string) (*mcp.Client, error) {
	env := append(os.Environ(), "BIN="+b.programs)
	for _, v := range []string{"STATE", "CACHE", "DATA", "CONFIG"} {
		env = append(env, "XDG_"+v+"_HOME="+filepath.Join(b.dir, strings.ToLower(v)))
	}
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return mcp.Start(ctx, mcp.Command{Path: b.collet, Args: []string{"serve", "--config", config}, Env: env, Dir: b.dir}, mcp.Options{})
}

// endWait is how long collet and its servers have to end.
const endWait = 30 * time.Second

func end(c *mcp.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	return c.Close(ctx)
}

// missing is an error when a server has not answered: its tools would be missing
// from the figures.
func missing(ctx context.Context, c *mcp.Client, servers string) error {
	tools, err := c.ListTools(ctx)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, raw := range tools {
		server, _, _ := strings.Cut(gjson.GetBytes(raw, "name").String(), "__")
		listed[server] = true
	}
	if !listed["tool_search"] { // all are direct
		for line := range strings.Lines(servers) {
			if server, ok := strings.CutPrefix(strings.TrimSpace(line), "[servers."); ok && !listed[strings.TrimSuffix(server, "]")] {
				return fmt.Errorf("%s has no tools", server)
			}
		}
		return nil
	}
	answer, err := search(ctx, c, tasks[0])
	if pending := gjson.Get(answer, "pending"); err == nil && len(pending.Array()) > 0 {
		return fmt.Errorf("servers are missing: %s", pending.Raw)
	}
	return err
}

// search is the text that tool_search gives a model.
func search(ctx context.Context, c *mcp.Client, query string) (string, error) {
	arguments, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return "", err
	}
	result, err := c.CallTool(ctx, "tool_search", arguments, mcp.RequestOptions{})
	if err != nil {
		return "", err
	}
	return gjson.GetBytes(result, "content.0.text").String(), nil
}

// forModel is what clients pass on of a definition: name, description and input
// schema, as they were written.
func forModel(raw json.RawMessage) string {
	def := gjson.ParseBytes(raw)
	var parts []string
	for _, key := range []string{"name", "description", "inputSchema"} {
		if v := def.Get(key); v.Exists() {
			parts = append(parts, fmt.Sprintf("%q:%s", key, v.Raw))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
