package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// diagnoser looks at servers and says what is wrong with them.
type diagnoser interface {
	Diagnose(ctx context.Context, q host.DiagnoseQuery) (*host.Diagnosis, error)
}

type doctorOptions struct {
	Streams *terminal.Streams
	// Host opens the host, and says how its configuration was found; nil when it
	// was named.
	Host func(context.Context) (openHost, *host.Discovery, error)

	Servers []string
	JSON    bool
	Wait    time.Duration
}

func newCmdDoctor(f *Factory, runF func(context.Context, *doctorOptions) error) *cobra.Command {
	opts := &doctorOptions{Streams: f.Streams, Host: f.openFound}
	cmd := &cobra.Command{
		Use:   "doctor [SERVER...]",
		Short: "Say of each server whether it works, why not, and what to do",
		Long: `Look at the configuration and the directories collet uses, start every enabled
server, or those that SERVER names (globs work), and say of each whether it
works, why not, and what to do. A server that is named is shown with all that is
known of it.

No value of the configuration is printed: not in what servers wrote to stderr,
either.

The exit code is that of the worst finding: 3 configuration, then 5 a credential
or trust is missing, 4 a server cannot be started or reached, 6 timeout; 0 when there
are only notes, and servers that are degraded: their tools are there, and calls of
them may fail for now.`,
		ValidArgsFunction: f.complete(completeServers),
		Example:           "  collet doctor\n  collet doctor github\n  collet doctor --json --wait 10s",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Servers = args
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return doctorRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.JSON, "json", false, `print {"ok","worst","durationMs","host","servers"}`)
	flags.DurationVar(&opts.Wait, "wait", listWait, "wait at most this long for servers that are starting")
	return cmd
}

func doctorRun(ctx context.Context, opts *doctorOptions) error {
	if opts.Wait <= 0 {
		return usagef("--wait %s: it has to be longer than nothing", opts.Wait)
	}
	h, found, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	var spinner *terminal.Spinner
	if !opts.JSON {
		spinner = opts.Streams.Spin("looking at the servers")
	}
	d, err := h.Diagnose(ctx, host.DiagnoseQuery{Servers: opts.Servers, Wait: opts.Wait, Discovery: found})
	spinner.Stop()
	if err != nil {
		return err
	}
	if opts.JSON {
		err = printJSON(opts.Streams, diagnosisJSON(d))
	} else {
		err = printDiagnosis(opts.Streams, d, len(opts.Servers) > 0)
	}
	if err != nil {
		return err
	}
	return quiet(kindCode(d.Worst()))
}

// openFound opens the host of whatever configuration there is, none included:
// what is wrong with it, or does not count, is for the diagnosis to tell.
func (f *Factory) openFound(ctx context.Context) (openHost, *host.Discovery, error) {
	if f.named() != "" {
		h, err := f.openSilently(ctx)
		return h, nil, err
	}
	found, err := f.discover("")
	if err != nil {
		return nil, nil, err
	}
	h, err := f.openLayers(ctx, found.Sources())
	return h, found, err
}

// kindCode is the exit code of a kind of finding.
func kindCode(k host.Kind) int {
	switch k {
	case host.KindConfiguration:
		return exitConfiguration
	case host.KindAuth:
		return exitAuth
	case host.KindUnreachable:
		return exitUnreachable
	case host.KindTimeout:
		return exitTimeout
	}
	return exitOK
}
