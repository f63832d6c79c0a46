package cli

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// completionWait is how long a completion waits for the server that the word
// names: someone who pressed TAB begins to doubt the shell after two seconds. It
// is a variable for tests on a busy machine.
var completionWait = 1800 * time.Millisecond

const (
	// completionEnd is what a host gets on top to answer with what it knows, and
	// then to close. Whatever is left is ended by the end of this process: every
	// adapter notices that.
	completionEnd = 200 * time.Millisecond

	// maxCandidate bounds one candidate and maxCandidates their number: nobody
	// chooses from more, and every shell slows down.
	maxCandidate  = 256
	maxCandidates = 2000
	// helpColumns is what a shell has room for beside a candidate.
	helpColumns = 80
)

// candidates are what a word may become.
type candidates struct {
	lines     []string
	directive cobra.ShellCompDirective
}

// nothing is no candidate, and no files in their place.
func nothing() *candidates {
	return &candidates{directive: cobra.ShellCompDirectiveNoFileComp}
}

// add offers text, with help that says what it is, when it continues the word.
func (c *candidates) add(word, text, help string) {
	added, ok := strings.CutPrefix(text, word)
	if !ok || text == "" || text[0] == '-' || !inert(added) || len(c.lines) >= maxCandidates {
		return
	}
	// Controls would break the line that the shell reads, and act on the terminal.
	help = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if s := string(r); terminal.Escape(s) != s {
			return -1
		}
		return r
	}, strings.ToValidUTF8(help, ""))
	if help = terminal.Cut(strings.Join(strings.Fields(help), " "), helpColumns); help != "" {
		text += "\t" + help
	}
	c.lines = append(c.lines, text)
}

// noSpace keeps the shell from ending the word behind a candidate.
func (c *candidates) noSpace() { c.directive |= cobra.ShellCompDirectiveNoSpace }

// keepOrder keeps the shell from sorting.
func (c *candidates) keepOrder() { c.directive |= cobra.ShellCompDirectiveKeepOrder }

// inert says whether text does nothing in any shell when it is put on a command
// line as it stands, which bash does with what several candidates begin with.
// Names and values come from strangers: what is not made of letters, digits and
// a few marks is not offered, and what has a space must not look like a second
// argument or an option.
func inert(text string) bool {
	if len(text) > maxCandidate || !utf8.ValidString(text) {
		return false
	}
	if strings.Contains(text, " ") && (strings.ContainsAny(text, "=@") || strings.Contains(text, " -")) {
		return false
	}
	for _, r := range text {
		if !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune("_-./:,+@%= ", r) {
			return false
		}
	}
	return true
}

// complete makes a completion of what a host knows. It says nothing but
// candidates: with a broken configuration, or a server that hangs, there are
// none. It takes completionWait and completionEnd at most.
func (f *Factory) complete(find func(context.Context, openHost, *cobra.Command, []string, string) *candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionWait)
		defer cancel()
		found := make(chan *candidates, 1)
		closed := make(chan struct{})
		// It ends with this function, or with the process, which ends next.
		go func() {
			defer close(closed)
			h, err := f.reach(ctx, false)
			if err != nil {
				return
			}
			defer h.Close()
			found <- find(ctx, h, cmd, args, word)
		}()
		end := time.NewTimer(completionWait + completionEnd)
		defer end.Stop()
		c := nothing()
		select {
		case c = <-found:
			end.Reset(completionEnd)
		case <-closed:
			select { // both may be ready
			case c = <-found:
			default:
			}
		case <-end.C:
			return c.lines, c.directive
		}
		select {
		case <-closed:
		case <-end.C:
		}
		return c.lines, c.directive
	}
}

// completeServer completes a server's name; it starts nothing.
func completeServer(_ context.Context, h openHost, _ *cobra.Command, args []string, word string) *candidates {
	c := nothing()
	if len(args) == 0 {
		addServers(c, h, word, "")
	}
	return c
}

// completeServers completes any number of servers' names; it starts nothing.
func completeServers(_ context.Context, h openHost, _ *cobra.Command, given []string, word string) *candidates {
	c := nothing()
	for _, s := range h.Servers() {
		if !slices.Contains(given, s.Name) {
			c.add(word, s.Name, s.State)
		}
	}
	return c
}

// completePattern completes a server's name or SERVER/TOOL.
func (f *Factory) completePattern(ctx context.Context, h openHost, _ *cobra.Command, args []string, word string) *candidates {
	c := nothing()
	switch {
	case len(args) > 0:
	case strings.Contains(word, "/"):
		f.addTools(ctx, c, h, word)
	default:
		addServers(c, h, word, "")
		c.noSpace() // a slash may follow
	}
	return c
}

// completeTool completes SERVER/TOOL.
func (f *Factory) completeTool(ctx context.Context, h openHost, _ *cobra.Command, args []string, word string) *candidates {
	c := nothing()
	switch {
	case len(args) > 0:
	case strings.Contains(word, "/"):
		f.addTools(ctx, c, h, word)
	default:
		addServers(c, h, word, "/")
		c.noSpace()
	}
	return c
}

// addServers offers the servers that can be started.
func addServers(c *candidates, h catalog, word, suffix string) {
	for _, s := range h.Servers() {
		if s.State != "disabled" && s.State != "misconfigured" {
			c.add(word, s.Name+suffix, "")
		}
	}
}

// addTools offers the tools of the one server that the word names.
func (f *Factory) addTools(ctx context.Context, c *candidates, h catalog, word string) {
	server, _, _ := strings.Cut(word, "/")
	for _, s := range h.Servers() {
		if s.Name != server {
			continue
		}
		list, err := h.Tools(ctx, host.Query{Pattern: server + "/*", Wait: completionWait, Recall: true})
		if err != nil {
			return
		}
		f.refreshBehind(server, oldest(list))
		for i := range list.Tools {
			c.add(word, list.Tools[i].Name, firstLine(&list.Tools[i]))
		}
	}
}
