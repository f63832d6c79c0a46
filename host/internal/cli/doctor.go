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
		Short: "Check whether each server works, and say why not and what to do",
		Long: `Check the configuration and the directories that collet uses, and start every enabled
server, or those that SERVER matches (globs work). Say of each whether it works, why
not, and what to do. If you name servers, every detail about them is shown.

No value of the configuration is printed, not even where a server wrote it to stderr.

The exit code is that of the worst finding: 3 configuration, then 5 a credential
or trust is missing, 4 a server cannot be started or reached, 6 timeout. It is 0 if
there are only notes and degraded servers: the tools of a degraded server are there, but
calls of them may fail for now.`,
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
		return usagef("--wait %s: it must be longer than 0s", opts.Wait)
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
