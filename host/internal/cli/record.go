package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/sdk/recording"
)

type recordOptions struct {
	Streams *terminal.Streams
	// Run runs a command whose hosts record to w.
	Run func(ctx context.Context, w io.Writer, args []string) int

	File string
	Args []string
}

func newCmdRecord(f *Factory, runF func(context.Context, *recordOptions) error) *cobra.Command {
	opts := &recordOptions{Streams: f.Streams, Run: f.runRecording}
	cmd := &cobra.Command{
		Use:   "record -o FILE -- COMMAND...",
		Short: "Run a collet command, and record the traffic with its servers",
		Long: `Run another collet command and append to FILE what passes between collet and its
adapters: what each server is, its tools, and each call with its arguments, progress,
log records, and result or failure. The plugin replay plays a recording back in place of
a server.

Secrets from the settings and the environment are replaced by their names, in arguments
and results, too. collet cannot tell what else in them is confidential: read a recording
before you give it away.`,
		Example: "  collet record -o github.jsonl -- tools call github/get_me\n  collet record -o session.jsonl -- serve",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Args = args
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return recordRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&opts.File, "output", "o", "", "the file to append to; it is created for you alone")
	flags.SetInterspersed(false) // what follows the command is its own
	return cmd
}

func recordRun(ctx context.Context, opts *recordOptions) error {
	switch {
	case opts.File == "":
		return usagef("-o FILE is missing: the file to record to")
	case len(opts.Args) == 0:
		return usagef("COMMAND is missing: what to record, such as: collet record -o %s -- tools list", opts.File)
	case opts.Args[0] == "record":
		return usagef("record cannot record itself")
	}
	out, err := openRecording(opts.File)
	if err != nil {
		return usagef("record to %s: %v", opts.File, err)
	}
	tape := &tape{file: out}
	code := opts.Run(ctx, tape, opts.Args)
	if err := errors.Join(tape.err, out.Close()); err != nil {
		opts.Streams.Note("collet: the recording %s is not complete: %v", opts.File, err)
		code = max(code, exitConfiguration)
	} else {
		opts.Streams.Note("collet: %d lines recorded in %s", tape.lines, opts.File)
	}
	return quiet(code)
}

// tape counts the lines and remembers what went wrong.
type tape struct {
	file  *os.File
	lines int
	err   error
}

func (t *tape) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	if err != nil {
		t.err = err
		return n, err
	}
	for _, b := range p {
		if b == '\n' {
			t.lines++
		}
	}
	return n, nil
}

// openRecording opens a file to append to: a new one, or one that is a recording.
func openRecording(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		if err = recording.Check(f); err != nil {
			err = fmt.Errorf("there is something else in it: %w", err)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// runRecording runs a command line whose hosts record to w.
func (f *Factory) runRecording(ctx context.Context, w io.Writer, args []string) int {
	// Defining the global flags anew takes back what they were given.
	var global []string
	if f.configFile != "" {
		global = append(global, "--config", f.configFile)
	}
	if f.logLevel != "" {
		global = append(global, "--log-level", f.logLevel)
	}
	if f.noColor {
		global = append(global, "--no-color")
	}
	f.record = w
	defer func() { f.record = nil }()
	return f.Run(ctx, slices.Concat(global, args))
}
