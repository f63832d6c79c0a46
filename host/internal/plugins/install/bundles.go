package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/plugins/attestation"
)

// The bounds of attestations, which are 10 KB each.
const (
	maxBundle    = 32 << 20 // one file of them, or GitHub's answer, in bytes
	maxBundles   = 30       // files, or attestations of GitHub's answer
	provenanceV1 = "https://slsa.dev/provenance/v1"
)

// bundleEnds are what files of Sigstore bundles are called: as cosign and the actions
// of GitHub call them, and as those of SLSA do.
var bundleEnds = []string{".sigstore.json", ".sigstore", ".intoto.jsonl"}

// bundleFiles are those files of a release that should attest an asset: named after
// it, packed or not, and if there are none, those named after no file, which are the
// whole release's.
func bundleFiles(files []string, asset string) []string {
	plugins := map[string]bool{}
	for _, f := range files {
		plugins[f], plugins[unpackedName(f)] = true, true
	}
	var own, all []string
	for _, f := range files {
		for _, end := range bundleEnds {
			stem, ok := strings.CutSuffix(f, end)
			switch {
			case !ok:
				continue
			case stem == asset || stem == unpackedName(asset):
				own = append(own, f)
			case !plugins[stem]:
				all = append(all, f)
			}
			break
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// Bundles are the attestations of what was staged of an asset: those that lie beside
// it, and those that GitHub keeps of it. None is no error, and nothing was verified.
func (f Fetcher) Bundles(ctx context.Context, a *Asset, p *Staged) ([]attestation.Bundle, error) {
	beside, err := a.bundlesBeside(ctx, f, p)
	if err != nil {
		return nil, fmt.Errorf("fetch the attestation of %s: %w", a.Name, err)
	}
	if len(beside) > 0 || !a.onGitHub {
		return beside, nil
	}
	for _, sum := range p.digests {
		kept, err := f.bundlesOfGitHub(ctx, a.Repository, sum)
		if err != nil {
			return nil, fmt.Errorf("ask GitHub whether %s is attested: %w", a.file, err)
		}
		if len(kept) > 0 {
			return kept, nil
		}
	}
	return nil, nil
}

func (a *Asset) bundlesBeside(ctx context.Context, f Fetcher, p *Staged) ([]attestation.Bundle, error) {
	names := bundleFiles(a.files, a.file)
	for _, sum := range p.digests {
		// So gh attestation download calls them.
		for _, name := range []string{"sha256:" + sum + ".jsonl", "sha256-" + sum + ".jsonl"} {
			if slices.Contains(a.files, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) > maxBundles {
		return nil, fmt.Errorf("there are %d files of attestations; at most %d are looked at", len(names), maxBundles)
	}
	var all []attestation.Bundle
	for _, name := range names {
		from, err := a.beside(ctx, name)
		if errors.Is(err, errNotThere) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data, err := readBounded(from, name, maxBundle)
		if err != nil {
			return nil, err
		}
		all = append(all, attestation.Bundle{Name: name, Data: data})
	}
	return all, nil
}

func readBounded(from io.ReadCloser, name string, limit int64) ([]byte, error) {
	defer from.Close()
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return data, err
}

// bundlesOfGitHub asks GitHub's API for the provenance of a file (REST API
// 2022-11-28, "List attestations"). Of a file that has none, it says that there is no
// such thing.
func (f Fetcher) bundlesOfGitHub(ctx context.Context, repository, sum string) ([]attestation.Bundle, error) {
	api := cmp.Or(f.GitHub, "https://api.github.com")
	address := fmt.Sprintf("%s/repos/%s/attestations/sha256:%s?per_page=%d&predicate_type=%s", api, repository, sum, maxBundles, url.QueryEscape(provenanceV1))
	text, err := f.read(ctx, address, f.Token, maxBundle)
	if errors.Is(err, errNotThere) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Attestations []struct {
			Bundle json.RawMessage `json:"bundle"`
			URL    string          `json:"bundle_url"` // of the bundle, compressed, where it was left out
		} `json:"attestations"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("its answer about %s: %w", repository, err)
	}
	var all []attestation.Bundle
	for i, kept := range answer.Attestations[:min(len(answer.Attestations), maxBundles)] {
		b := attestation.Bundle{Name: fmt.Sprintf("%d of github.com/%s", i+1, repository), Data: kept.Bundle}
		if (len(kept.Bundle) == 0 || string(kept.Bundle) == "null") && kept.URL != "" {
			if b.Data, err = f.read(ctx, kept.URL, "", maxBundle); err != nil {
				return nil, err
			}
		}
		all = append(all, b)
	}
	return all, nil
}

// besideFile opens a file of a directory.
func besideFile(dir string) func(context.Context, string) (io.ReadCloser, error) {
	return func(_ context.Context, name string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, name)) }
}

// besideNames are the files that may attest a file in dir, which may be anybody's.
func besideNames(dir, file string) []string {
	var names []string
	for _, stem := range []string{file, unpackedName(file)} {
		for _, end := range bundleEnds {
			if _, err := os.Stat(filepath.Join(dir, stem+end)); err == nil && !slices.Contains(names, stem+end) {
				names = append(names, stem+end)
			}
		}
	}
	return names
}
