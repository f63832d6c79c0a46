package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

func newCmdConsent(f *Factory) *cobra.Command {
	return group("consent <command>", "List and revoke the consents to calls", "  collet consent list\n  collet consent revoke 'github/*'",
		newCmdConsentList(f, nil), newCmdConsentRevoke(f, nil))
}

// openConsents is the record of the hosts of this user.
func (f *Factory) openConsents() (*host.ConsentStore, error) {
	if f.homeless != nil {
		return nil, exitf(exitConfiguration, "%v", f.homeless)
	}
	return host.OpenConsents(""), nil
}

type consentListOptions struct {
	Streams *terminal.Streams
	Store   func() (*host.ConsentStore, error)

	All, JSON bool
}

func newCmdConsentList(f *Factory, runF func(context.Context, *consentListOptions) error) *cobra.Command {
	opts := &consentListOptions{Streams: f.Streams, Store: f.openConsents}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the consents in effect",
		Long: `List the consents in effect, which are the answers "always". Each is for one tool, as it
and its server's entry were then, and for calls with the same credential (local: none was
required). With --all, list every answer and revocation on record. If an adapter wanted
the question asked, ASKED shows its question; --json has everything.`,
		Example: "  collet consent list\n  collet consent list --all --json",
		Args:    exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return consentListRun(opts)
		},
	}
	cmd.Flags().BoolVar(&opts.All, "all", false, "list every answer, not only those in effect")
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"consents":[{"time","decision","server","tool","principal",...}]}`)
	return cmd
}

func consentListRun(opts *consentListOptions) error {
	store, err := opts.Store()
	if err != nil {
		return err
	}
	records, err := store.Standing()
	if opts.All && err == nil {
		records, err = store.Records()
	}
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	if opts.JSON {
		return printConsents(opts.Streams, "consents", records)
	}
	if len(records) == 0 {
		opts.Streams.Note("collet: no consents are in effect")
		return nil
	}
	headings, rows := []string{"WHEN", "ANSWER", "PRINCIPAL", "BY", "TOOL"}, make([][]string, 0, len(records))
	kept := slices.ContainsFunc(records, func(r host.ConsentRecord) bool { return asked(&r) != "" })
	if kept {
		headings = append(headings, "ASKED")
	}
	for _, r := range records {
		what := r.Server + "/" + r.Tool
		if r.Decision == host.ConsentRevoked {
			what = cmp.Or(r.Pattern, "*")
		}
		row := []string{r.Time.Local().Format(time.DateTime), string(r.Decision), visible(cmp.Or(r.Principal, "-")), cmp.Or(r.By, "-"), visible(what)}
		if kept {
			row = append(row, visible(cmp.Or(asked(&r), "-")))
		}
		rows = append(rows, row)
	}
	return opts.Streams.Table(headings, rows)
}

// asked is what a person agreed to, or not, where it is kept.
func asked(r *host.ConsentRecord) string { return cmp.Or(string(r.Arguments), r.Shown) }

// printConsents prints records as they are kept, as the member of an object.
func printConsents(s *terminal.Streams, member string, records []host.ConsentRecord) error {
	var all [][]byte
	for _, r := range records {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			return err
		}
		all = append(all, []byte(strings.TrimSpace(b.String())))
	}
	var o rawjson.Object
	o.Raw(member, rawjson.Array(all))
	return printJSON(s, o.Bytes())
}

type consentRevokeOptions struct {
	Streams *terminal.Streams
	Store   func() (*host.ConsentStore, error)

	Pattern string
	JSON    bool
}

func newCmdConsentRevoke(f *Factory, runF func(context.Context, *consentRevokeOptions) error) *cobra.Command {
	opts := &consentRevokeOptions{Streams: f.Streams, Store: f.openConsents}
	cmd := &cobra.Command{
		Use:   "revoke [PATTERN]",
		Short: "Revoke consents, so that collet asks again",
		Long: `Revoke the consents to the tools that PATTERN matches (as in 'collet tools list'), or
all consents, whoever gave them. Running hosts follow from their next call on.`,
		Example: "  collet consent revoke\n  collet consent revoke github\n  collet consent revoke 'files/write_*'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q; quote a pattern so that the shell leaves it alone", args[1])
			}
			return nil
		},
		ValidArgsFunction: f.complete(f.completePattern),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if opts.Pattern = args[0]; opts.Pattern == "" {
					return usagef("PATTERN is empty; leave it out to revoke all")
				}
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return consentRevokeRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.JSON, "json", false, `print {"revoked":[{"time","server","tool","principal",...}]}`)
	return cmd
}

func consentRevokeRun(ctx context.Context, opts *consentRevokeOptions) error {
	store, err := opts.Store()
	if err != nil {
		return err
	}
	ended, err := store.Revoke(ctx, opts.Pattern, time.Now())
	if err != nil {
		return exitf(exitConfiguration, "%v", err)
	}
	if opts.JSON {
		return printConsents(opts.Streams, "revoked", ended)
	}
	for _, r := range ended {
		opts.Streams.Note("collet: the consent of %s to %s/%s is revoked", visible(r.Principal), visible(r.Server), visible(r.Tool))
	}
	if len(ended) == 0 {
		opts.Streams.Note("collet: no consent in effect matches")
	}
	return nil
}
