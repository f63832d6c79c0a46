package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/enrich"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rewrite"
	"github.com/collet-dev/collet/sdk/failure"
)

type enrichOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (openHost, error)

	About             enrich.Subject
	Out               string
	WebSearch, WorkIQ string
	Yes               bool
}

func newCmdEnrich(f *Factory, runF func(context.Context, *enrichOptions) error) *cobra.Command {
	opts := &enrichOptions{Streams: f.Streams, Host: f.openOwn}
	cmd := &cobra.Command{
		Use:   "enrich --company NAME",
		Short: "Gather what the web and your organisation know about a company",
		Long: `Gather what is known about a company into one JSON object: what the web says, from the
tool research_company of the server websearch, and what your own organisation knows,
from the tool ask of the server workiq. Before collet asks workiq, it shows you the
question and asks for your consent; your answer is recorded ('collet consent list --all').

A source that cannot be used is left out, with one line on stderr. The exit code is 0
if any source answered. If none did, nothing is written, and the exit code says why.`,
		Example: `  collet enrich --company "Contoso" --industry retail --out contoso.json
  collet enrich --company "Contoso" --team "Platform" --yes | jq .workiqInsights`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !cmd.Flags().Changed("company"):
				return usagef("--company is missing")
			case cmd.Flags().Changed("out") && opts.Out == "":
				return usagef("--out: its value is empty")
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return enrichRun(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.About.Company, "company", "", "the `NAME` of the company")
	flags.StringVar(&opts.About.Industry, "industry", "", "the `INDUSTRY` of the company; without it, the result has no trends")
	flags.StringVar(&opts.About.Team, "team", "", "the `TEAM` of your organisation to look at")
	flags.StringVar(&opts.Out, "out", "", "write to this `FILE`, replacing its content, instead of stdout")
	flags.StringVar(&opts.WebSearch, "websearch", "", "the `SERVER` to search the web with (default: the server with the plugin websearch)")
	flags.StringVar(&opts.WorkIQ, "workiq", "", "the `SERVER` that knows your organisation (default: the server with the plugin workiq)")
	flags.BoolVar(&opts.Yes, "yes", false, "answer yes to every question for consent")
	for _, flag := range []string{"websearch", "workiq"} {
		completeFlag(cmd, flag, f.complete(func(_ context.Context, h openHost, _ *cobra.Command, _ []string, word string) *candidates {
			c := nothing()
			addServers(c, h, word, "")
			return c
		}))
	}
	for _, flag := range []string{"company", "industry", "team"} {
		completeFlag(cmd, flag, words())
	}
	if err := cmd.MarkFlagFilename("out", "json"); err != nil {
		panic(err)
	}
	return cmd
}

// maxEnriched is more than an enrichment has, in bytes: a file that is larger is
// something else.
const maxEnriched = 4 << 20

func enrichRun(ctx context.Context, opts *enrichOptions) error {
	before, err := opts.before()
	if err != nil {
		return err
	}
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	defer h.Close()

	spinner := opts.Streams.Spin("enrich")
	keys := newKeyboard(opts.Streams)
	keys.spinner = spinner
	code := exitTimeout // the least of all
	got, _, err := enrich.Run(ctx, h, opts.About, enrich.Options{
		WebSearch: opts.WebSearch, WorkIQ: opts.WorkIQ, Caller: host.CLI,
		Consent:    consenter(keys, opts.Yes),
		OnProgress: func(source string, p host.Progress) { spinner.Status(source + " " + progressText(p)) },
		OnSkipped: func(s enrich.Skipped) {
			defer spinner.Pause()()
			opts.Streams.Note("collet: %s", visible(s.String()))
			code = worse(code, skippedCode(s.Err))
		},
	})
	spinner.Stop()
	if own, ok := errors.AsType[*failure.Failure](err); ok {
		return usagef("%v", own)
	}
	if err != nil {
		return err
	}
	if len(got.Sources) == 0 {
		return exitf(code, "no source could be used, and nothing is written")
	}
	return opts.write(got, before)
}

// skippedCode is the exit code of a source that cannot be used.
func skippedCode(err error) int {
	if own, ok := errors.AsType[*failure.Failure](err); ok && !errors.As(err, new(*host.Failure)) {
		return failureCode(&host.Failure{Failure: *own})
	}
	return exitCode(err)
}

// before is what is in the file to write to. A file that cannot be written is no
// reason to ask anybody anything.
func (opts *enrichOptions) before() ([]byte, error) {
	if opts.Out == "" {
		return nil, nil
	}
	if strings.HasSuffix(opts.Out, "/") {
		return nil, usagef("--out %s: it is a directory", opts.Out)
	}
	if fi, err := os.Stat(opts.Out); err == nil && !fi.Mode().IsRegular() {
		return nil, usagef("--out %s: it is not a file", opts.Out)
	}
	before, err := rewrite.Read(opts.Out, maxEnriched)
	switch {
	case err != nil:
		return nil, usagef("--out: %v", err)
	case len(before) > maxEnriched:
		return nil, usagef("--out %s: it has more than 4 MiB, so enrich did not write it; it stays as it is", opts.Out)
	}
	return before, nil
}

func (opts *enrichOptions) write(e *enrich.Enrichment, before []byte) error {
	text, err := e.JSON()
	if err != nil {
		return err
	}
	if opts.Out != "" {
		return rewrite.File(opts.Out, before, text)
	}
	_, err = opts.Streams.Out.Write(text)
	return err
}
