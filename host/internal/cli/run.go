package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/argument"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// maxRunTime is the most that a script may take (docs/codemode.md).
const maxRunTime = 10 * time.Minute

type runOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Asking  func(context.Context) (openHost, error) // Host, of which servers may ask

	File    string // - is stdin
	Words   []string
	JSON    bool
	Timeout time.Duration // 0: the host's
	Allow   []string
	DryRun  bool
	Yes     bool
	Answers []string // of forms: name=value and its kin

	Open func(url string) error // an address, in the browser
}

func newCmdRun(f *Factory, runF func(context.Context, *runOptions) error) *cobra.Command {
	opts := &runOptions{Streams: f.Streams, Host: f.open, Asking: f.openAsking, Open: opener(f.Getenv)}
	cmd := &cobra.Command{
		Use:   "run FILE [-- ARGS...]",
		Short: "Run a script that calls tools",
		Long: `Run a script that calls tools: JavaScript or TypeScript, from FILE, or from stdin if
FILE is -. The script is the body of an async function, in which
tools.SERVER.TOOL(...) calls a tool. It can reach nothing but tools.

What the script outputs with text() and image(), and what it returns, goes to stdout;
its console goes to stderr. It finds ARGS in args, an array of strings.

With --allow, the script sees and calls only the tools that PATTERN matches (as in
'collet tools list'); you can repeat --allow. With --dry-run, only tools known to be
read-only are called; other calls are printed, and answered with {}.

If a tool needs a person's consent, collet asks on the terminal; --yes says yes to every
such question. With neither a terminal nor --yes, the call fails and the script goes on.
Servers' questions in the middle of a call are also asked on the terminal; --answer
answers them in advance.

Exit codes: 0 completed; 1 the script failed; 2 it is not a valid script; 6 it took too
long; 7 its memory or output exceeded the limit; 130 canceled.`,
		Example: `  collet run report.ts
  collet run report.ts --allow github --allow 'files/read_*' -- owner/repo 7
  echo 'return Object.keys(tools.files)' | collet run - --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) == 0 || dash == 0:
				return usagef("FILE is missing; - is stdin")
			case dash < 0 && len(args) > 1:
				return usagef("unexpected argument %q; write the script's arguments after --", args[1])
			case dash > 1:
				return usagef("unexpected argument %q", args[1])
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.File, opts.Words = args[0], args[1:]
			if cmd.Flags().Changed("timeout") && (opts.Timeout <= 0 || opts.Timeout > maxRunTime) {
				return usagef("--timeout %s: it must be longer than 0s, and at most %s", opts.Timeout, maxRunTime)
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.JSON, "json", false, `print {"status","value","output","console","error","calls",...}`)
	flags.DurationVar(&opts.Timeout, "timeout", 0, "limit of the whole script, at most 10m (default: timeout of [host.codemode], 2m)")
	flags.StringArrayVar(&opts.Allow, "allow", nil, "let the script see and call only tools that `PATTERN` matches")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "print calls of tools that may change something instead of making them")
	flags.BoolVar(&opts.Yes, "yes", false, "answer yes to every question for consent")
	flags.StringArrayVar(&opts.Answers, "answer", nil, "fill in a field of a server's form in advance: `NAME=VALUE` or NAME:=JSON; you are not asked then")
	completeFlag(cmd, "answer", words())
	completeFlag(cmd, "allow", f.complete(f.completePattern))
	completeFlag(cmd, "timeout", words())
	return cmd
}

func runRun(ctx context.Context, opts *runOptions) error {
	source, err := opts.source(ctx)
	if err != nil {
		return err
	}
	answers, err := readAnswers(ctx, opts.Answers)
	if err != nil {
		return err
	}
	keys, dataIn := newKeyboard(opts.Streams), ""
	if opts.File == "-" {
		dataIn = "the script"
	}
	asked := newRespondent(keys, answers, dataIn, opts.Open)
	open := opts.Host
	if asked.answers != nil || asked.nobody == "" {
		open = opts.Asking
	}
	h, err := open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := opts.checkAllow(h.Servers()); err != nil {
		return err
	}
	var args rawjson.Object
	args.Strings("args", opts.Words)
	req := host.ScriptRequest{
		Source: source,
		Args:   json.RawMessage(bytes.TrimSuffix(bytes.TrimPrefix(args.Bytes(), []byte(`{"args":`)), []byte("}"))),
		Limits: host.ScriptLimits{Timeout: opts.Timeout},
		DryRun: opts.DryRun, Patterns: opts.Allow,
	}
	var spinner *terminal.Spinner
	if !opts.JSON {
		spinner = opts.Streams.Spin(opts.name())
		req.OnCall = func(c host.ScriptCall) { spinner.Status(callStatus(c)) }
	}
	keys.spinner = spinner
	req.Consent, req.AskFor, req.Meta = consenter(keys, opts.Yes), asked.of, asked.meta()
	outcome, err := h.Run(ctx, req)
	spinner.Stop()
	for _, n := range asked.told() {
		opts.Streams.Note("collet: note: %s", n)
	}
	if err != nil {
		return err
	}
	if opts.JSON {
		if err := printJSON(opts.Streams, outcome.JSON()); err != nil {
			return err
		}
		return quiet(outcomeCode(&outcome))
	}
	return opts.print(&outcome)
}

// source reads the script until ctx is done: to open and read a file, a pipe or a
// terminal can take for ever.
func (opts *runOptions) source(ctx context.Context) (string, error) {
	type script struct {
		text []byte
		err  error
	}
	read := make(chan script, 1)
	in := opts.Streams.Input()
	go func() { // a read cannot be called off: after Ctrl-C it ends with the process
		text, err := argument.ReadText(opts.File, in)
		read <- script{text, err}
	}()
	var s script
	select {
	case s = <-read:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	text := bytes.TrimPrefix(s.text, []byte("\xef\xbb\xbf"))
	switch {
	case s.err != nil:
		return "", usagef("%v", s.err)
	case len(text) > host.MaxScript:
		return "", usagef("%s has %d bytes; a script has at most %d", opts.name(), len(text), host.MaxScript)
	case !utf8.Valid(text):
		return "", usagef("%s is not a script: it is not UTF-8", opts.name())
	}
	// The line that makes a file executable keeps its number.
	if bytes.HasPrefix(text, []byte("#!")) {
		text = append([]byte("//"), text[len("#!"):]...)
	}
	return string(text), nil
}

// name is the script for a person.
func (opts *runOptions) name() string {
	if opts.File == "-" {
		return "stdin"
	}
	return filepath.Base(opts.File)
}

// checkAllow refuses a pattern that no server is under: it would be a typing error
// that makes every call fail.
func (opts *runOptions) checkAllow(servers []host.Server) error {
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	for _, p := range opts.Allow {
		want, _, _ := strings.Cut(p, "/")
		found := false
		for _, n := range names {
			found = found || name.Match(want, n)
		}
		if !found {
			hint := ""
			if near := name.Near(want, names, 1); len(near) > 0 {
				hint = "; did you mean " + near[0] + "?"
			}
			return usagef("--allow %s: no server is called %q%s", p, want, hint)
		}
	}
	return nil
}

// callStatus is how calls stand, on a line: "3 calls in flight, 12 made; files/read".
func callStatus(c host.ScriptCall) string {
	calls := "calls"
	if c.InFlight == 1 {
		calls = "call"
	}
	text := fmt.Sprintf("%d %s in flight, %d made", c.InFlight, calls, c.Made)
	if !c.Ended {
		text += "; " + c.Tool
	}
	return text
}
