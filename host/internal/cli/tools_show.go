package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/argument"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

type toolsShowOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Behind  func(pattern string, oldest time.Time)

	Tool       string
	JSON       bool
	TypeScript bool
	Refresh    bool
}

func newCmdToolsShow(f *Factory, runF func(context.Context, *toolsShowOptions) error) *cobra.Command {
	opts := &toolsShowOptions{Streams: f.Streams, Host: f.open, Behind: f.refreshBehind}
	cmd := &cobra.Command{
		Use:     "show " + toolArgument,
		Short:   "Show one tool: what it does and which arguments it takes",
		Example: "  collet tools show files/read_text_file",
		Args:    exactly(1, "SERVER/TOOL"),

		ValidArgsFunction: f.complete(f.completeTool),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Tool = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return toolsShowRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.TypeScript, "ts", false, "print the TypeScript declaration with which scripts call the tool")
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print the tool as 'tools list --json' does, with unchecked, consent, and definition: the tool as the server sent it")
	cmd.Flags().BoolVar(&opts.Refresh, "refresh", false, "ask the server instead of using its snapshot")
	return cmd
}

func toolsShowRun(ctx context.Context, opts *toolsShowOptions) error {
	if err := checkToolName(opts.Tool); err != nil {
		return err
	}
	if opts.JSON && opts.TypeScript {
		return usagef("--json and --ts exclude each other")
	}
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	var spinner *terminal.Spinner
	if !opts.JSON {
		spinner = opts.Streams.Spin(opts.Tool)
	}
	t, asked, err := opts.find(ctx, h)
	spinner.Stop()
	if err != nil {
		return err
	}
	opts.Behind(t.Server, asked)
	if opts.JSON {
		return printJSON(opts.Streams, toolJSON(t, func(o *rawjson.Object) {
			addAsked(o, asked)
			o.OptionalString("unchecked", t.Unchecked())
			o.OptionalString("consent", t.Consent)
			o.Raw("definition", t.Definition)
		}))
	}
	if opts.TypeScript {
		_, err := io.WriteString(opts.Streams.Out, t.TypeScript())
		return err
	}
	if err := printTool(opts.Streams, t); err != nil || asked.IsZero() {
		return err
	}
	tellStaleServer(opts.Streams, t.Server, asked)
	return nil
}

// find returns the tool, from what its server said lately if that will do; asked is
// when that was.
func (opts *toolsShowOptions) find(ctx context.Context, h openHost) (*host.Tool, time.Time, error) {
	if !opts.Refresh {
		if t, asked := h.Known(ctx, opts.Tool); t != nil {
			return t, asked, nil
		}
	}
	t, err := h.Tool(ctx, opts.Tool)
	return t, time.Time{}, err
}

// checkToolName refuses what cannot be a tool's name before anything is started.
func checkToolName(tool string) error {
	if server, rest, ok := strings.Cut(tool, "/"); !ok || server == "" || rest == "" {
		return usagef("%q is not a tool: its name is SERVER/TOOL", tool)
	}
	return nil
}

func printTool(s *terminal.Streams, t *host.Tool) error {
	parameters := argument.Parameters(t.InputSchema)
	var b strings.Builder
	b.WriteString(s.Bold(s.Text(signature(t.Name, parameters))))
	b.WriteByte('\n')
	if t.Title != "" {
		fmt.Fprintf(&b, "%s\n", s.Text(t.Title))
	}
	if text := strings.TrimSpace(t.Description); text != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Text(text))
	}
	b.WriteByte('\n')
	if _, err := io.WriteString(s.Out, b.String()); err != nil {
		return err
	}
	if len(parameters) > 0 {
		rows := make([][]string, 0, len(parameters))
		for _, p := range parameters {
			required := ""
			if p.Required {
				required = "yes"
			}
			text := strings.Join(append(strings.Fields(p.Description), allowed(p)), " ")
			rows = append(rows, []string{p.Name, p.Type, required, strings.TrimSpace(text)})
		}
		if err := s.WrappedTable([]string{"ARGUMENT", "TYPE", "REQUIRED", "DESCRIPTION"}, rows); err != nil {
			return err
		}
		fmt.Fprintln(s.Out)
	}
	schema := "checked"
	if why := t.Unchecked(); why != "" {
		schema = "unchecked, arguments go to the server as they are: " + why
	}
	said := strings.Join(hints(t), ", ")
	if said == "" {
		said = "none"
	}
	if t.Rewritten {
		schema += fmt.Sprintf("\naccepted   no, rewritten since; 'collet plugins trust %s' shows the change and accepts it", t.Server)
	}
	_, err := fmt.Fprintf(s.Out, "exposure   %s\nwire name  %s\nhints      %s\nschema     %s\n%s",
		t.Exposure, s.Text(t.WireName), said, s.Text(schema), consentLine(t.Consent))
	return err
}

// consentLine says what a call needs besides its arguments; nothing where it needs
// nothing.
func consentLine(word string) string {
	switch word {
	case "ask":
		return "consent    ask: a person is asked before a call\n"
	case "deny":
		return "consent    deny: it is not called\n"
	}
	return ""
}

// signature is a tool on one line: files/read_text_file(path: string, head?: number).
func signature(tool string, parameters []argument.Parameter) string {
	words := make([]string, 0, len(parameters))
	for _, p := range parameters {
		mark := "?"
		if p.Required {
			mark = ""
		}
		words = append(words, p.Name+mark+": "+p.Type)
	}
	return terminal.Line(tool + "(" + strings.Join(words, ", ") + ")")
}

// maxShownValues bounds how many values of an enum are shown.
const maxShownValues = 20

// allowed tells an argument's values and default: (one of "a", "b"; default "a").
func allowed(p argument.Parameter) string {
	var parts []string
	switch n := len(p.Enum); {
	case n == 1:
		parts = append(parts, "always "+p.Enum[0])
	case n > maxShownValues:
		parts = append(parts, fmt.Sprintf("one of %s and %d more", strings.Join(p.Enum[:maxShownValues], ", "), n-maxShownValues))
	case n > 1:
		parts = append(parts, "one of "+strings.Join(p.Enum, ", "))
	}
	if p.Default != "" {
		parts = append(parts, "default "+p.Default)
	}
	if parts == nil {
		return ""
	}
	return "(" + strings.Join(parts, "; ") + ")"
}
