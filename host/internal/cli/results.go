package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/sdk/failure"
)

func newCmdResults(f *Factory) *cobra.Command {
	return group("results <command>", "Read results that were too large for a model",
		"  collet results read HANDLE --lines 1-100", newCmdResultsRead(f, nil))
}

type resultsReadOptions struct {
	Streams *terminal.Streams
	Store   func() (*host.ResultStore, error)

	Handle, Lines string
	Slice         host.ResultSlice
	JSON          bool
}

func newCmdResultsRead(f *Factory, runF func(context.Context, *resultsReadOptions) error) *cobra.Command {
	opts := &resultsReadOptions{Streams: f.Streams, Store: f.openResults}
	cmd := &cobra.Command{
		Use:   "read HANDLE",
		Short: "Print a kept result, or a part of it",
		Long: `Print a result that was too large for a model, by the handle that the model was given:
its text or, with --path, a value of the MCP result. Nothing is started. A result is
kept for a day, unless it has to make room for others earlier.`,
		Example: "  collet results read HANDLE > whole.txt\n  collet results read HANDLE --lines 100-199\n" +
			"  collet results read HANDLE --path 'structuredContent.items.#.name'\n  collet results read HANDLE --path @this    # as received",
		Args: exactly(1, "the result's HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Handle = args[0]
			if cmd.Flags().Changed("lines") {
				lines, err := results.ParseLines(opts.Lines)
				if err != nil {
					return usagef("--%v", err)
				}
				opts.Slice.Lines = lines
			}
			if cmd.Flags().Changed("limit") && opts.Slice.Limit < 1 {
				return usagef("--limit %d: it must be at least 1", opts.Slice.Limit)
			}
			if err := opts.Slice.Check(); err != nil {
				return usagef("%v", err)
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return resultsReadRun(opts)
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&opts.Slice.Offset, "offset", 0, "start at this byte")
	flags.Int64Var(&opts.Slice.Limit, "limit", 0, "print at most this many bytes")
	flags.StringVar(&opts.Lines, "lines", "", "print these lines: A-B, A- or A")
	flags.StringVar(&opts.Slice.Path, "path", "", "print the value at this GJSON path of the MCP result instead of its text")
	flags.BoolVar(&opts.JSON, "json", false, `print {"data","offset","total","lines","totalLines","next"}`)
	return cmd
}

// openResults is the store of the hosts of this user.
func (f *Factory) openResults() (*host.ResultStore, error) {
	if f.homeless != nil {
		return nil, exitf(exitConfiguration, "%v", f.homeless)
	}
	return host.OpenResults(""), nil
}

func resultsReadRun(opts *resultsReadOptions) error {
	store, err := opts.Store()
	if err != nil {
		return err
	}
	// Whose result it is does not matter to the person whose files these are.
	page, err := store.ReadAny(opts.Handle, opts.Slice, 0)
	if err != nil {
		var own *failure.Failure
		if errors.As(err, &own) {
			return exitf(failureCode(&host.Failure{Failure: *own}), "%v", err)
		}
		return err
	}
	if opts.JSON {
		return printJSON(opts.Streams, page.JSON())
	}
	data := page.Data
	if opts.Streams.OutTerminal {
		data = opts.Streams.Text(data)
		if !strings.HasSuffix(data, "\n") { // the prompt gets a line of its own
			data += "\n"
		}
	}
	_, err = io.WriteString(opts.Streams.Out, data)
	return err
}
