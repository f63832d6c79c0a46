package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/mcp"
)

// The task: which of the notes in a directory have the most to do. A model either
// reads them all, or writes a script that does, after a search for the tools.
const (
	walkServer = "[servers.filesystem]\ncommand = \"${BIN}/mcp-server-filesystem\"\nargs = [\".\"]\n"
	walkSearch = "list a directory and read its text files"
	walkFiles  = 20
	walkSize   = 6 << 10 // bytes of one
)

// walkScript is the script that README.md and docs/codemode.md show.
//
//go:embed walk.ts
var walkScript string

// walked is what one way to do the task costs.
type walked struct {
	way           string
	calls         int
	written, read int // tokens: what the model writes for its calls, and gets for them
	answer        string
}

// notes writes the directory: lines of words, and a TODO in as many of them as the
// number of the file says.
func notes(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	words := strings.Fields("the parser reads one header after another and keeps those which a later step may want to look at again before it answers")
	for i := range walkFiles {
		var text strings.Builder
		for n := 0; text.Len() < walkSize; n++ {
			if n < i {
				text.WriteString("TODO ")
			}
			for w := range 12 {
				text.WriteString(words[(7*i+5*n+3*w)%len(words)] + " ")
			}
			fmt.Fprintf(&text, "%d.\n", i*n)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("note-%02d.md", i)), []byte(text.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// walk does the task in both ways.
func (b *bench) walk(ctx context.Context) ([]walked, error) {
	if err := notes(filepath.Join(b.dir, "notes")); err != nil {
		return nil, err
	}
	direct, err := b.way(ctx, "direct", func(call func(string, any) (gjson.Result, error)) (string, error) {
		list, err := call("filesystem__list_directory", map[string]string{"path": "notes"})
		if err != nil {
			return "", err
		}
		most, name := -1, ""
		for line := range strings.Lines(list.Get("structuredContent.content").String()) {
			file := strings.TrimSpace(strings.TrimPrefix(line, "[FILE] "))
			r, err := call("filesystem__read_text_file", map[string]string{"path": "notes/" + file})
			if err != nil {
				return "", err
			}
			if n := strings.Count(r.Get("content.0.text").String(), "TODO"); n > most {
				most, name = n, file
			}
		}
		return fmt.Sprintf("%s %d", name, most), nil
	})
	if err != nil {
		return nil, err
	}
	codemode, err := b.way(ctx, "codemode", func(call func(string, any) (gjson.Result, error)) (string, error) {
		if _, err := call("tool_search", map[string]string{"query": walkSearch}); err != nil {
			return "", err
		}
		r, err := call("codemode", map[string]string{"code": walkScript})
		if err != nil {
			return "", err
		}
		best := r.Get("structuredContent.value.0")
		return fmt.Sprintf("%s %d", best.Get("name").String(), best.Get("todos").Int()), nil
	})
	if err == nil && codemode.answer != direct.answer {
		err = fmt.Errorf("the script says %q, the files say %q", codemode.answer, direct.answer)
	}
	return []walked{direct, codemode}, err
}

// way counts what do calls.
func (b *bench) way(ctx context.Context, exposure string, do func(call func(tool string, arguments any) (gjson.Result, error)) (string, error)) (w walked, err error) {
	w.way = exposure
	config := filepath.Join(b.dir, "walk-"+exposure+".toml")
	if err := os.WriteFile(config, []byte(fmt.Sprintf("[host]\nexposure = %q\nconnect_wait = %q\n", exposure, b.wait)+walkServer), 0o600); err != nil {
		return w, err
	}
	client, err := b.start(ctx, config)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, end(client)) }()
	w.answer, err = do(func(tool string, arguments any) (gjson.Result, error) {
		written, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
		if err != nil {
			return gjson.Result{}, err
		}
		raw, err := client.CallTool(ctx, tool, json.RawMessage(gjson.GetBytes(written, "arguments").Raw), mcp.RequestOptions{})
		r := gjson.ParseBytes(raw)
		if err == nil && r.Get("isError").Bool() {
			err = fmt.Errorf("%s: %s", tool, r)
		}
		if err != nil {
			return r, err
		}
		w.calls++
		n, err := b.count(string(written))
		if err != nil {
			return r, err
		}
		w.written += n
		for _, text := range r.Get("content.#.text").Array() {
			n, err := b.count(text.String())
			if err != nil {
				return r, err
			}
			w.read += n
		}
		return r, nil
	})
	return w, err
}

// reportWalk prints the table of the task.
func reportWalk(to io.Writer, all []walked) error {
	out := tabwriter.NewWriter(to, 0, 8, 1, ' ', 0)
	fmt.Fprint(out, "\n| one task\t| calls\t| written\t| read\t| together\t| of direct\t|\n|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|\n")
	for _, w := range all {
		fmt.Fprintf(out, "| %s\t| %d\t| %s\t| %s\t| %s\t| %s\t|\n", w.way, w.calls, grouped(w.written), grouped(w.read), grouped(w.written+w.read), share(w.written+w.read, all[0].written+all[0].read))
	}
	return out.Flush()
}
