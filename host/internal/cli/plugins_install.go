package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/plugins/attestation"
	"github.com/collet-dev/collet/host/internal/plugins/install"
)

type pluginsInstallOptions struct {
	Streams *terminal.Streams
	Store   install.Store
	Fetcher install.Fetcher
	Host    func(context.Context) (openHost, error) // of the configuration, if there is one

	// Attest says who attested a plugin; collet-attest does.
	Attest func(context.Context, attestation.Claim) (*attestation.Signer, error)

	Source, Name string
	Unchecked    bool

	RequireAttestation      bool
	Repository, TrustedRoot string
}

func newCmdPluginsInstall(f *Factory, runF func(context.Context, *pluginsInstallOptions) error) *cobra.Command {
	opts := f.installing()
	cmd := &cobra.Command{
		Use:   "install PATH|URL|github.com/OWNER/NAME[@VERSION]",
		Short: "Install a plugin from a file, a directory, an address or a GitHub release",
		Long: `Fetch a plugin, check it against the checksums.txt beside it, and install it. A
directory holds the same files as a release: collet-plugin-NAME_OS_ARCH, packed or not,
and checksums.txt. The previous version stays in use until everything is in place.

If there is a Sigstore attestation of the plugin (in the release, beside the file, or
kept by GitHub), it must show that a workflow of the repository built it.

Nothing from the plugin is executed. The configuration's mcp.lock now pins the new file;
other mcp.lock files keep the version that they name.`,
		Example: "  collet plugins install github.com/acme/collet-plugin-acme@v1.4.0\n  collet plugins install ./mirror",
		Args:    exactly(1, "what to install, PATH, URL or github.com/OWNER/NAME,"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Source = args[0]
			if err := f.home(); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsInstallRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.Name, "name", "", "the plugin's name, if its files do not say it or there are several plugins")
	cmd.Flags().BoolVar(&opts.Unchecked, "unchecked", false, uncheckedUsage)
	cmd.Flags().StringVar(&opts.Repository, "repository", "", "`github.com/OWNER/NAME` that must have built it, if the source does not say")
	opts.attestationFlags(cmd)
	return cmd
}

const uncheckedUsage = "install from the network even without checksums, or without an attestation although the previous version had one"

// installing are the options that all commands about installed plugins share.
func (f *Factory) installing() *pluginsInstallOptions {
	opts := &pluginsInstallOptions{
		Streams: f.Streams, Store: install.Store{Dir: host.InstalledPlugins()}, Host: f.openSilently,
		Fetcher: install.Fetcher{
			GitHub: strings.TrimSuffix(f.Getenv("COLLET_GITHUB_API"), "/"),
			Token:  cmp.Or(f.Getenv("GITHUB_TOKEN"), f.Getenv("GH_TOKEN")),
		},
	}
	opts.Attest = opts.verifier
	return opts
}

func pluginsInstallRun(ctx context.Context, opts *pluginsInstallOptions) error {
	spinner := opts.Streams.Spin("looking for " + visible(opts.Source))
	asset, err := opts.Fetcher.Find(ctx, opts.Source, opts.Name)
	spinner.Stop()
	if err != nil {
		return exitf(exitUnreachable, "install %s: %s", visible(opts.Source), visible(err.Error()))
	}
	return opts.install(ctx, asset, false)
}

// install fetches an asset, sees who attested it, and puts it in place.
func (opts *pluginsInstallOptions) install(ctx context.Context, asset *install.Asset, pinned bool) error {
	spinner := opts.Streams.Spin("fetching " + asset.Name)
	staged, err := asset.Stage(ctx, opts.Store)
	if err != nil {
		spinner.Stop()
		code := exitUnreachable
		if _, ok := errors.AsType[*install.UnwritableError](err); ok {
			code = exitConfiguration
		}
		return exitf(code, "%s", visible(err.Error()))
	}
	staged.Pinned = pinned
	staged.Attested, err = opts.attested(ctx, asset, staged)
	spinner.Stop()
	if err == nil && staged.Attested == nil && asset.SHA256 == "" && !filepath.IsAbs(asset.Source) && !opts.Unchecked {
		err = exitf(exitAuth, "install %s from %s: there is neither a checksums.txt beside it nor an attestation, so nothing says that it is what its author made; --unchecked installs it nevertheless", asset.Name, visible(asset.Source))
	}
	if err != nil {
		staged.Discard()
		return err
	}
	if err := opts.Store.Use(ctx, staged); err != nil {
		return exitf(exitConfiguration, "%s", visible(err.Error()))
	}
	checked := "nothing to check it against"
	if staged.Checked != "" {
		checked = "as its " + staged.Checked + " says"
	}
	_, err = fmt.Fprintf(opts.Streams.Out, "%s %s\nfrom     %s\nsha256   %s, %s\nattested %s\n", asset.Name, cmp.Or(visible(staged.Version), "(no version)"), visible(staged.Source), staged.SHA256, checked, attestedBy(staged.Attested))
	return errors.Join(err, opts.pin(ctx, &staged.Receipt))
}

// pin has the mcp.lock of the configuration name the version that was installed. Who
// has no configuration yet has nothing to pin for.
func (opts *pluginsInstallOptions) pin(ctx context.Context, r *install.Receipt) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return nil
	}
	defer h.Close()
	plugins, err := h.Plugins(ctx)
	if err != nil {
		return err
	}
	for i := range plugins {
		p := &plugins[i]
		if p.Name != r.Name || filepath.Dir(p.Path) != opts.Store.Dir || p.State == "" || slices.Equal(p.Pins, []string{r.SHA256}) {
			continue
		}
		p.SHA256, p.Source, p.Version = r.SHA256, r.Source, r.Version
		if r.Attested != nil {
			p.Signer = r.Attested.Identity
		}
		if err := h.AcceptPlugin(ctx, p); err != nil {
			return exitf(exitConfiguration, "%v; 'collet plugins trust %s' tries it again, until then the previous version is started", err, r.Name)
		}
		opts.Streams.Note("collet: pinned in %s", visible(p.Lock))
	}
	return nil
}

func newCmdPluginsUpgrade(f *Factory, runF func(context.Context, *pluginsInstallOptions) error) *cobra.Command {
	opts := f.installing()
	cmd := &cobra.Command{
		Use:   "upgrade [NAME]",
		Short: "Upgrade installed plugins from where they were installed",
		Long:  "Look again at the place that the plugin NAME, or every installed plugin, came from, and\ninstall what is there now. Pinned plugins are left alone.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.Name = args[0]
			}
			if err := f.home(); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return pluginsUpgradeRun(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Unchecked, "unchecked", false, uncheckedUsage)
	opts.attestationFlags(cmd)
	return cmd
}

func pluginsUpgradeRun(ctx context.Context, opts *pluginsInstallOptions) error {
	receipts := opts.Store.Receipts()
	if opts.Name != "" {
		r, err := opts.Store.Receipt(opts.Name)
		if err != nil {
			return notInstalled(opts.Name, err)
		}
		if r.Pinned {
			return exitf(exitUsage, "%s is pinned at %s; 'collet plugins pin --off %s' lets it be upgraded", opts.Name, cmp.Or(visible(r.Version), r.SHA256), opts.Name)
		}
		receipts = []install.Receipt{*r}
	}
	failed := exitOK
	for _, r := range receipts {
		if r.Pinned {
			opts.Streams.Note("collet: %s is pinned, and left alone", r.Name)
			continue
		}
		asset, err := opts.Fetcher.Find(ctx, r.Source, r.Name)
		switch {
		case err != nil:
			opts.Streams.Note("collet: upgrade %s: %s", r.Name, visible(err.Error()))
			failed = worse(failed, exitUnreachable)
		case asset.Version != "" && asset.Version == r.Version:
			opts.Streams.Note("collet: %s %s is the latest", r.Name, visible(r.Version))
		default:
			if err := opts.install(ctx, asset, false); err != nil {
				opts.Streams.Note("collet: %v", err)
				failed = worse(failed, exitCode(err))
			}
		}
	}
	return quiet(failed)
}

func notInstalled(name string, err error) error {
	if errors.Is(err, install.ErrNotInstalled) {
		return exitf(exitNotFound, "%s is not installed; 'collet plugins list' shows the plugins there are", visible(name))
	}
	return exitf(exitConfiguration, "%s: %s", visible(name), visible(err.Error()))
}

func newCmdPluginsRemove(f *Factory, runF func(context.Context, *pluginsInstallOptions) error) *cobra.Command {
	opts := f.installing()
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an installed plugin",
		Args:  exactly(1, "the plugin's NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			if err := f.home(); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			if err := opts.Store.Remove(cmd.Context(), opts.Name); err != nil {
				return notInstalled(opts.Name, err)
			}
			opts.Streams.Note("collet: %s is removed", opts.Name)
			return nil
		},
	}
}

func newCmdPluginsPin(f *Factory, runF func(context.Context, *pluginsInstallOptions) error) *cobra.Command {
	opts := f.installing()
	off := false
	cmd := &cobra.Command{
		Use:   "pin NAME",
		Short: "Keep an installed plugin at its version when others are upgraded",
		Args:  exactly(1, "the plugin's NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			if err := f.home(); err != nil {
				return err
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			if err := opts.Store.Pin(cmd.Context(), opts.Name, !off); err != nil {
				return notInstalled(opts.Name, err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "let it be upgraded again")
	return cmd
}
