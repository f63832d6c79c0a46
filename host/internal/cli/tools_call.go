package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/argument"
	"github.com/collet-dev/collet/host/internal/cli/content"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/sdk/failure"
)

type toolsCallOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Asking  func(context.Context) (openHost, error) // Host, of which servers may ask

	Tool    string
	Words   []string // key=value and its kin
	Args    string
	HasArgs bool
	JSON    bool
	Query   string
	Timeout time.Duration // 0: the server's
	Retry   string
	Yes     bool
	Answers []string // of forms: name=value and its kin
	SaveDir string

	Open func(url string) error // an address, in the browser
}

func newCmdToolsCall(f *Factory, runF func(context.Context, *toolsCallOptions) error) *cobra.Command {
	opts := &toolsCallOptions{Streams: f.Streams, Host: f.open, Asking: f.openAsking, Open: opener(f.Getenv)}
	cmd := &cobra.Command{
		Use:   "call " + toolArgument + " [key=value | key:=json | key=@file]...",
		Short: "Call one tool and print what it answers",
		Long: `Call one tool and print what it answers.

Arguments are converted as the tool's input schema says:

  key=value    a string stays as it is: 007 does not become 7; integers keep every
               digit; if the schema allows several types or says nothing, a value
               that is JSON of an allowed type is taken as that, and anything else
               as a string
  key:=json    JSON, passed on byte for byte
  key=@file    the content of the file as the value; - is stdin

For an array, a single value becomes an array of one, and a repeated key collects an
array. A dot in a key has no special meaning. --args passes a whole JSON object instead,
byte for byte.

Text is printed as it is; on a terminal, control characters are escaped. Content blocks
come first: structuredContent is printed only if there are none, and --json shows both.
If the tool says that it failed, its answer is printed all the same and the exit code
is 1.

If the server asks something in the middle of the call (elicitation), collet asks you on
the terminal. --answer fills in the server's forms in advance, and can be repeated.`,
		Example: `  collet tools call files/read_text_file path=notes.md head=3
  collet tools call github/create_issue title=Crash labels=bug labels=urgent body=@report.md
  collet tools call memory/create_entities entities:='[{"name":"x"}]' --json
  echo '{"path":"a"}' | collet tools call files/read_text_file --args - -q content.0.text`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("SERVER/TOOL is missing")
			}
			return nil
		},
		ValidArgsFunction: f.completeCall(),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Tool, opts.Words = args[0], args[1:]
			opts.HasArgs = cmd.Flags().Changed("args")
			for _, flag := range []string{"query", "save"} {
				if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
					return usagef("--%s: its value is empty", flag)
				}
			}
			if cmd.Flags().Changed("timeout") && opts.Timeout <= 0 {
				return usagef("--timeout %s: it must be longer than 0s", opts.Timeout)
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return toolsCallRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Args, "args", "", "all arguments: a JSON object, @file, or - for stdin")
	flags.BoolVar(&opts.JSON, "json", false, `print {"tool","ok","result" or "failure","attempts","durationMs","notices"}`)
	flags.StringVarP(&opts.Query, "query", "q", "", "print only the value at this GJSON path of the result, strings without quotes; exit code 8 if there is none")
	flags.DurationVar(&opts.Timeout, "timeout", 0, "limit for one attempt; progress restarts it (default: the server's timeout)")
	flags.StringVar(&opts.Retry, "retry", "", "when to make a second attempt: safe, always or never (default: the server's retry)")
	flags.BoolVar(&opts.Yes, "yes", false, "answer yes to every question for consent")
	flags.StringArrayVar(&opts.Answers, "answer", nil, "fill in a field of the server's form in advance: `NAME=VALUE` or NAME:=JSON; you are not asked then")
	flags.StringVar(&opts.SaveDir, "save", "", "write images, audio and blobs to new files in this `directory`")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usagef("%v; a tool's own arguments are written key=value", err)
	})
	completeFlag(cmd, "args", completeWhole)
	completeFlag(cmd, "answer", words())
	completeFlag(cmd, "retry", words("safe\twhen it cannot do harm", "always\talso when the first may have worked", "never"))
	if err := cmd.MarkFlagDirname("save"); err != nil {
		panic(err)
	}
	return cmd
}

func toolsCallRun(ctx context.Context, opts *toolsCallOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	words, whole, err := opts.arguments(ctx)
	if err != nil {
		return err
	}
	answers, err := readAnswers(ctx, opts.Answers)
	if err != nil {
		return err
	}
	var files *content.Files
	if opts.SaveDir != "" {
		// Before the call: one that cannot be undone is not made for an answer that
		// cannot be kept.
		_, tool, _ := strings.Cut(opts.Tool, "/")
		if files, err = content.OpenFiles(opts.SaveDir, tool); err != nil {
			return usagef("--save: %v", err)
		}
		defer files.Close()
	}
	keys := newKeyboard(opts.Streams)
	asked := newRespondent(keys, answers, opts.dataIn(), opts.Open)
	open := opts.Host
	if asked.answers != nil || asked.nobody == "" {
		open = opts.Asking
	}
	h, err := open(ctx)
	if err != nil {
		return err
	}
	defer h.Close()

	res, err := opts.call(ctx, h, words, whole, keys, asked)
	if err != nil {
		return err
	}
	return opts.print(res, files)
}

// check refuses what no server has to be asked about.
func (opts *toolsCallOptions) check() error {
	if err := checkToolName(opts.Tool); err != nil {
		return err
	}
	switch {
	case opts.HasArgs && len(opts.Words) > 0:
		return usagef("--args and key=value exclude each other: %q", opts.Words[0])
	case opts.JSON && opts.Query != "":
		return usagef("--json and -q exclude each other: -q reads the result, which --json wraps")
	case opts.Retry != "" && !slices.Contains([]string{"safe", "always", "never"}, opts.Retry):
		return usagef("--retry %s: it must be one of safe, always, never", opts.Retry)
	}
	return nil
}

// arguments reads the command line's words, or --args as a whole, until ctx is
// done: to open and read a file, a pipe or a terminal can take for ever.
func (opts *toolsCallOptions) arguments(ctx context.Context) ([]argument.Word, json.RawMessage, error) {
	type arguments struct {
		words []argument.Word
		whole json.RawMessage
		err   error
	}
	read := make(chan arguments, 1)
	go func() { // a read cannot be called off: after Ctrl-C it ends with the process
		words, whole, err := opts.readArguments()
		read <- arguments{words, whole, err}
	}()
	select {
	case a := <-read:
		return a.words, a.whole, a.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func (opts *toolsCallOptions) readArguments() (words []argument.Word, whole json.RawMessage, err error) {
	in := opts.Streams.Input()
	if opts.HasArgs {
		whole, err = opts.readWhole(in)
		return nil, whole, err
	}
	stdin := 0
	for _, text := range opts.Words {
		if strings.HasSuffix(text, "=@-") {
			stdin++
		}
		if stdin > 1 {
			return nil, nil, usagef("stdin can be read only once: %q", text)
		}
		w, err := argument.ParseWord(text, in)
		if err != nil {
			return nil, nil, usagef("%v", err)
		}
		words = append(words, w)
	}
	return words, nil, nil
}

func (opts *toolsCallOptions) readWhole(in io.Reader) (json.RawMessage, error) {
	text := []byte(opts.Args)
	path, isFile := strings.CutPrefix(opts.Args, "@")
	if opts.Args == "-" {
		path, isFile = "-", true
	}
	if isFile {
		var err error
		if text, err = argument.ReadText(path, in); err != nil {
			return nil, usagef("--args: %v", err)
		}
	}
	// Editors and PowerShell begin a file with a byte order mark (RFC 8259, 8.1: it may be ignored).
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	switch {
	case len(text) == 0:
		return nil, usagef("--args %q: it is empty; for a tool without arguments, write {}", opts.Args)
	case !utf8.Valid(text):
		return nil, usagef("--args: the text is not UTF-8, which JSON has to be")
	case !json.Valid(text):
		return nil, usagef("--args: %v", json.Unmarshal(text, new(json.RawMessage)))
	case text[0] != '{':
		return nil, usagef("--args: a tool takes a JSON object, this is another JSON value")
	}
	return text, nil
}

func (opts *toolsCallOptions) call(ctx context.Context, h caller, words []argument.Word, arguments json.RawMessage, keys *keyboard, asked *respondent) (*host.Result, error) {
	var spinner *terminal.Spinner
	if !opts.JSON {
		spinner = opts.Streams.Spin(opts.Tool)
	}
	defer spinner.Stop()
	keys.spinner = spinner
	var doubts []string
	if len(words) > 0 {
		t, err := h.Tool(ctx, opts.Tool)
		if err != nil {
			return nil, err
		}
		doubts = misnamed(t.InputSchema, words)
		var problems []failure.Problem
		if arguments, problems = argument.Object(t.InputSchema, words); problems != nil {
			return nil, opts.misspelled(problems, doubts)
		}
	}
	res, err := h.Call(ctx, host.Request{
		Tool: opts.Tool, Arguments: arguments, Caller: host.CLI, Timeout: opts.Timeout, Retry: host.Retry(opts.Retry),
		OnProgress: func(p host.Progress) { spinner.Status(progressText(p)) },
		Consent:    consenter(keys, opts.Yes),
		Ask:        asked.of(opts.Tool), Meta: asked.meta(),
	})
	var fail *host.Failure
	switch {
	case err == nil:
		res.Notices = slices.Concat(doubts, res.Notices, asked.told())
	case errors.As(err, &fail):
		fail.Notices = append(fail.Notices, asked.toldOf(&fail.Failure)...)
	}
	switch {
	case errors.As(err, &fail) && !slices.ContainsFunc(fail.Problems, func(p failure.Problem) bool { return p.Rule == "additionalProperties" }):
		// Where the schema forbids other names, the host has said it.
		fail.Notices = append(doubts, fail.Notices...)
	}
	return res, err
}

// dataIn is what the command reads from stdin, "" when nothing.
func (opts *toolsCallOptions) dataIn() string {
	if opts.HasArgs && (opts.Args == "-" || opts.Args == "@-") || slices.ContainsFunc(opts.Words, func(w string) bool { return strings.HasSuffix(w, "=@-") }) {
		return "the arguments"
	}
	return ""
}

// misnamed tells of names that the tool does not declare but nearly does. Most
// schemas allow any name, so that the call goes on.
func misnamed(inputSchema json.RawMessage, words []argument.Word) []string {
	strange := argument.Undeclared(inputSchema, words)
	if len(strange) == 0 {
		return nil
	}
	var declared, doubts []string
	for _, p := range argument.Parameters(inputSchema) {
		declared = append(declared, p.Name)
	}
	for _, key := range strange {
		if near := name.Near(key, declared, 1); len(near) > 0 {
			doubts = append(doubts, fmt.Sprintf("the tool declares no argument %q; did you mean %q?", key, near[0]))
		}
	}
	return doubts
}

// misspelled is the failure of words that no value of the schema's types can be
// made of; it is the same failure that the host has for arguments it refuses.
func (opts *toolsCallOptions) misspelled(problems []failure.Problem, doubts []string) error {
	server, tool, _ := strings.Cut(opts.Tool, "/")
	f := &host.Failure{Server: server, Tool: tool, Notices: doubts}
	lines := make([]string, 0, len(problems))
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", p.Path, p.Message, p.Rule))
	}
	f.Failure = *failure.New(failure.InvalidArguments, failure.NotSent,
		"the arguments do not fit the tool's input schema: %s", strings.Join(lines, "; "))
	f.Origin, f.Problems = failure.OriginHost, problems
	return f
}

func progressText(p host.Progress) string {
	text := fmt.Sprintf("%g", p.Done)
	if p.Total > 0 {
		text = terminal.Bar(p.Done / p.Total)
	}
	return strings.TrimSpace(text + " " + p.Message)
}

func (opts *toolsCallOptions) print(res *host.Result, files *content.Files) error {
	if opts.JSON || opts.Query != "" {
		return opts.printPart(res, files)
	}
	var out io.Writer = opts.Streams.Out
	if opts.Streams.OutTerminal {
		out = terminal.Escaper(out)
	}
	if err := content.Print(out, res.JSON, files); err != nil {
		return err
	}
	for _, n := range res.Notices {
		opts.Streams.Note("collet: note: %s", n)
	}
	if empty, kind := content.Empty(res.JSON); empty && kind != "" {
		opts.Streams.Note("collet: %s: the answer is not a result but %s; --json shows it", opts.Tool, kind)
	} else if empty && !res.IsError {
		opts.Streams.Note("collet: %s: the result is empty", opts.Tool)
	}
	return opts.verdict(res)
}

// printPart prints the envelope or what -q asks for, and saves files beside it.
func (opts *toolsCallOptions) printPart(res *host.Result, files *content.Files) error {
	var saved []string
	if files != nil {
		var err error
		if saved, err = content.Save(res.JSON, files); err != nil {
			opts.Streams.Note("collet: --save: %v", err)
		}
	}
	if opts.JSON {
		res.Notices = append(res.Notices, saved...)
		if err := printJSON(opts.Streams, envelope(opts.Tool, res, nil)); err != nil {
			return err
		}
		if res.IsError {
			return quiet(exitToolError)
		}
		return nil
	}
	for _, line := range slices.Concat(saved, res.Notices) {
		opts.Streams.Note("collet: note: %s", line)
	}
	found := gjson.GetBytes(res.JSON, opts.Query)
	if !found.Exists() {
		if res.IsError {
			return opts.verdict(res)
		}
		return exitf(exitNotFound, "%s answered, but its result has nothing at %s", opts.Tool, opts.Query)
	}
	text := found.Raw
	if found.Type == gjson.String || text == "" {
		text = found.String()
	}
	if _, err := fmt.Fprintln(opts.Streams.Out, opts.Streams.Text(text)); err != nil {
		return err
	}
	return opts.verdict(res)
}

// verdict tells of a tool that says it failed.
func (opts *toolsCallOptions) verdict(res *host.Result) error {
	if !res.IsError {
		return nil
	}
	return exitf(exitToolError, "%s: the tool says it failed", opts.Tool)
}
