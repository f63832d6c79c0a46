package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/argument"
)

// maxEntries bounds how much of a directory is read for a completion.
const maxEntries = 10_000

// completeCall completes the words of a call; a file needs no host.
func (f *Factory) completeCall() cobra.CompletionFunc {
	ask := f.complete(f.completeArgument)
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		key, path, ok := strings.Cut(word, "=@")
		if len(args) == 0 || !ok || key == "" || strings.Contains(key, "=") {
			return ask(cmd, args, word)
		}
		c := nothing()
		addFiles(c, key+"=@", path)
		return c.lines, c.directive
	}
}

// completeArgument completes SERVER/TOOL, and after it the tool's arguments.
func (f *Factory) completeArgument(ctx context.Context, h openHost, cmd *cobra.Command, args []string, word string) *candidates {
	if len(args) == 0 {
		return f.completeTool(ctx, h, cmd, args, word)
	}
	if cmd.Flags().Changed("args") { // it excludes them
		return nothing()
	}
	if checkToolName(args[0]) != nil {
		return nothing()
	}
	t, asked := h.Known(ctx, args[0])
	if t == nil {
		var err error
		if t, err = h.Tool(ctx, args[0]); err != nil {
			return nothing()
		}
	}
	f.refreshBehind(t.Server, asked)
	if key, value, ok := strings.Cut(word, "="); ok {
		return completeValue(t.InputSchema, key, value, args[1:])
	}
	return completeKey(t.InputSchema, word, args[1:])
}

// completeKey offers the arguments that are still missing, required ones first.
func completeKey(schema []byte, word string, given []string) *candidates {
	c := nothing()
	c.noSpace()
	c.keepOrder()
	parameters := argument.Parameters(schema)
	slices.SortStableFunc(parameters, func(a, b argument.Parameter) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	for _, p := range parameters {
		// A name that cannot be written as a key is not offered as one.
		if strings.ContainsAny(p.Name, "=@ ") || strings.HasSuffix(p.Name, ":") || len(valuesOf(given, p.Name)) > 0 && !p.Repeats {
			continue
		}
		help := p.Description
		if help == "" {
			help = p.Type
		}
		c.add(word, p.Name+"=", help)
	}
	return c
}

// completeValue offers the values that the schema names, for an array those that
// have not been given.
func completeValue(schema []byte, key, value string, given []string) *candidates {
	c := nothing()
	c.keepOrder()
	for _, text := range argument.Values(schema, key) {
		if !slices.Contains(valuesOf(given, key), text) {
			c.add(key+"="+value, key+"="+text, "")
		}
	}
	return c
}

// valuesOf are the texts already given for a key, in whichever spelling.
func valuesOf(given []string, key string) []string {
	var texts []string
	for _, word := range given {
		k, text, ok := strings.Cut(word, "=")
		if ok && strings.TrimSuffix(k, ":") == key {
			texts = append(texts, text)
		}
	}
	return texts
}

// completeWhole completes --args, which takes a file behind @.
func completeWhole(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c := nothing()
	if path, ok := strings.CutPrefix(word, "@"); ok {
		addFiles(c, "@", path)
	}
	return c.lines, c.directive
}

// addFiles offers the files that path can become, behind prefix. The shell's own
// completion of files does not know where in the word the path begins.
func addFiles(c *candidates, prefix, path string) {
	dir, begun := filepath.Split(path)
	place := dir
	if place == "" {
		place = "."
	}
	d, err := os.Open(place)
	if err != nil {
		return
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxEntries) // what could be read is offered
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, begun) || name[0] == '.' && begun == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(place, name)); err == nil && info.IsDir() {
			name += string(filepath.Separator)
			c.noSpace()
		}
		c.add(prefix+path, prefix+dir+name, "")
	}
}
