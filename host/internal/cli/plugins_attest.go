package cli

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/plugins/attestation"
	"github.com/collet-dev/collet/host/internal/plugins/install"
)

var gitHubRepository = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}$`) })

// attestationFlags are those of install and upgrade.
func (opts *pluginsInstallOptions) attestationFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&opts.RequireAttestation, "require-attestation", false, "refuse plugins without a Sigstore attestation that shows their origin")
	cmd.Flags().StringVar(&opts.TrustedRoot, "trusted-root", "", "a `FILE` of Sigstore roots to trust instead of the public ones")
}

// verifier runs collet-attest with the options as they are then.
func (opts *pluginsInstallOptions) verifier(ctx context.Context, c attestation.Claim) (*attestation.Signer, error) {
	p := attestation.Beside()
	p.TrustedRoot = opts.TrustedRoot
	return p.Verify(ctx, c)
}

// attested says who attested what was staged. Nobody, nil, is no error unless it has
// to be somebody: because the person says so, or because the version in use, which
// came from there as well, was attested. An attestation that does not hold is one.
func (opts *pluginsInstallOptions) attested(ctx context.Context, asset *install.Asset, staged *install.Staged) (*attestation.Signer, error) {
	refuse := func(code int, format string, args ...any) error {
		return exitf(code, "install %s from %s: "+format+"; nothing was installed", append([]any{asset.Name, visible(asset.Source)}, args...)...)
	}
	repository := asset.Repository
	if repository == "" {
		repository = strings.TrimPrefix(strings.TrimPrefix(opts.Repository, "https://"), "github.com/")
	}
	if repository != "" && !gitHubRepository().MatchString(repository) {
		return nil, usagef("--repository is github.com/OWNER/NAME, and not %q", visible(opts.Repository))
	}
	before, err := opts.Store.Receipt(asset.Name)
	if err != nil || before.Attested == nil || before.Source != asset.Source {
		before = nil
	}
	if repository == "" && before != nil {
		repository = strings.TrimPrefix(before.Attested.Repository, "https://github.com/")
	}
	if repository == "" && opts.RequireAttestation {
		return nil, refuse(exitUsage, "--require-attestation needs --repository github.com/OWNER/NAME there, to know who is to have attested it")
	}
	bundles, err := opts.Fetcher.Bundles(ctx, asset, staged)
	if err != nil {
		return nil, refuse(exitUnreachable, "%s", visible(err.Error()))
	}
	if len(bundles) == 0 {
		switch {
		case opts.RequireAttestation:
			return nil, refuse(exitAuth, "it is not attested, and --require-attestation is set")
		case before != nil && !opts.Unchecked:
			return nil, refuse(exitAuth, "it is not attested, but the version in use was, by %s: somebody else may have published it; --unchecked installs it all the same", visible(before.Attested.Identity))
		}
		return nil, nil
	}
	signer, err := opts.Attest(ctx, attestation.Claim{Repository: repository, SHA256: staged.Digests(), Bundles: bundles})
	if refused, ok := errors.AsType[*attestation.RefusedError](err); ok {
		return nil, refuse(exitAuth, "%s", visible(refused.Error()))
	}
	if err != nil {
		return nil, refuse(exitConfiguration, "%s", visible(err.Error()))
	}
	// What was attested for one release proves nothing of another, where somebody may
	// have put an old version.
	if tag, ok := strings.CutPrefix(signer.Ref, "refs/tags/"); ok && asset.Version != "" && tag != asset.Version {
		return nil, refuse(exitAuth, "its attestation is of the release %s, and this is %s", visible(tag), visible(asset.Version))
	}
	return signer, nil
}

// attestedBy is the line about it.
func attestedBy(s *attestation.Signer) string {
	if s == nil {
		return "by nobody: collet knows only that it came from where it was published"
	}
	return "by " + visible(cmp.Or(strings.TrimPrefix(s.Identity, "https://"), s.Repository))
}
