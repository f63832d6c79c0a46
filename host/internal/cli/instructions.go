package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

type instructionsOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)
	Wait    time.Duration
}

func newCmdInstructions(f *Factory, runF func(context.Context, *instructionsOptions) error) *cobra.Command {
	opts := &instructionsOptions{Streams: f.Streams, Host: f.open}
	cmd := &cobra.Command{
		Use:   "instructions",
		Short: "Print what a model client is told about the servers",
		Long: `Print the instructions that a client of 'collet serve' would get now: the servers whose
tools have to be searched for, and how many servers are starting or cannot be reached.
They are empty if every tool is in the client's list anyway.`,
		Example: "  collet instructions\n  collet instructions --wait 5s",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.Wait <= 0 {
				return usagef("--wait %s: it must be longer than 0s", opts.Wait)
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return instructionsRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().DurationVar(&opts.Wait, "wait", listWait, "wait at most this long for servers that are starting")
	completeFlag(cmd, "wait", words())
	return cmd
}

func instructionsRun(ctx context.Context, opts *instructionsOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	list, err := awaitTools(ctx, h, opts.Streams, host.Query{Wait: opts.Wait}, false)
	if err != nil {
		return err
	}
	text := h.Instructions()
	if text == "" {
		opts.Streams.Note("collet: no instructions: every tool is in the client's list, or there are no tools")
	}
	if _, err := io.WriteString(opts.Streams.Out, opts.Streams.Text(text)); err != nil {
		return err
	}
	return quiet(tellMissing(opts.Streams, list).code())
}
