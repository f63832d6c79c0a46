package install

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// The bounds of what is fetched, in bytes.
const (
	maxChecksums = 1 << 20
	maxRelease   = 4 << 20 // GitHub's answer about a release
)

// maxPlugin bounds a plugin's file, and an archive, in bytes; those of collet have 20 MiB.
// What an archive unpacks to may be twice that. It is no constant for tests.
var maxPlugin int64 = 512 << 20

// fetchTime bounds one answer of a server, its body included.
const fetchTime = 10 * time.Minute

// checksumsFile is what goreleaser and most others call it.
const checksumsFile = "checksums.txt"

// Fetcher finds and reads what a person names.
type Fetcher struct {
	// GitHub is the address of GitHub's API. Default: https://api.github.com.
	GitHub string
	// Token is sent to GitHub's API, and nowhere else. "" is none.
	Token string
	// HTTP makes the requests. Default: one that follows redirects to https alone,
	// or to where it came from.
	HTTP *http.Client
}

// Asset is one plugin file that was found, for this platform.
type Asset struct {
	Name    string // the plugin's
	Source  string // what upgrade asks again
	Version string // the release's tag; "" where there is none
	SHA256  string // of the asset, as its checksums say; "" when there are none
	// Repository is OWNER/NAME on github.com that is to have built it; "" is not known.
	Repository string

	file     string // the asset's file name
	open     func(context.Context) (io.ReadCloser, error)
	onGitHub bool     // Repository may have attestations of it
	files    []string // that may lie beside it
	beside   func(ctx context.Context, name string) (io.ReadCloser, error)
}

var gitHubSource = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^github\.com/([A-Za-z0-9-]{1,39})/([A-Za-z0-9._-]{1,100})(?:@([A-Za-z0-9._+/-]{1,100}))?$`)
})

// Find finds what source names: a plugin's file or archive, a directory of such with
// their checksums.txt (as a release has them), an http(s) address, or
// github.com/owner/name[@version]. name is the plugin's, "" what the files say.
func (f Fetcher) Find(ctx context.Context, source, name string) (*Asset, error) {
	if m := gitHubSource().FindStringSubmatch(source); m != nil {
		return f.findGitHub(ctx, m[1], m[2], m[3], name)
	}
	if strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://") {
		return f.findURL(ctx, source, name)
	}
	abs, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return findDir(abs, name)
	}
	a, err := named(filepath.Base(abs), name)
	if err != nil {
		return nil, err
	}
	a.Source, a.open = abs, fileOpener(abs)
	a.files, a.beside = besideNames(filepath.Dir(abs), a.file), besideFile(filepath.Dir(abs))
	return a, a.checkedBy(readLocal(filepath.Join(filepath.Dir(abs), checksumsFile)))
}

func fileOpener(path string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return os.Open(path) }
}

func readLocal(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxChecksums))
	return data
}

// findDir finds the file for this platform among those of a release.
func findDir(dir, name string) (*Asset, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	a, err := choose(files, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	a.Source, a.open = dir, fileOpener(filepath.Join(dir, a.file))
	a.files, a.beside = files, besideFile(dir)
	return a, a.checkedBy(readLocal(filepath.Join(dir, checksumsFile)))
}

// choose picks this platform's file: collet-plugin-NAME_OS_ARCH, packed or not.
func choose(files []string, name string) (*Asset, error) {
	platform := "_" + runtime.GOOS + "_" + runtime.GOARCH
	var found []*Asset
	for _, file := range files {
		if base := unpackedName(file); strings.HasPrefix(base, prefix) && strings.HasSuffix(base, platform) {
			if a, err := named(file, ""); err == nil && (name == "" || a.Name == name) {
				found = append(found, a)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no %s%s%s among its files (%s)", prefix, cmp.Or(name, "NAME"), platform, strings.Join(files[:min(len(files), 10)], ", "))
	case 1:
		return found[0], nil
	}
	for _, a := range found[1:] {
		if a.Name != found[0].Name {
			return nil, fmt.Errorf("it has several plugins, %s and %s among them; --name says which", found[0].Name, a.Name)
		}
	}
	return found[0], nil
}

// unpackedName is a file's name without what says how it is packed.
func unpackedName(file string) string {
	for _, ext := range []string{".tar.gz", ".tgz", ".zip", ".exe"} {
		file = strings.TrimSuffix(file, ext)
	}
	return file
}

// named is a file whose plugin its name tells.
func named(file, name string) (*Asset, error) {
	if name == "" {
		name = strings.TrimSuffix(strings.TrimPrefix(unpackedName(file), prefix), "_"+runtime.GOOS+"_"+runtime.GOARCH)
		if !strings.HasPrefix(file, prefix) {
			name = ""
		}
	}
	if !pluginName().MatchString(name) {
		return nil, fmt.Errorf("%s: its name does not say which plugin it is (%sNAME); --name does", file, prefix)
	}
	return &Asset{Name: name, file: file}, nil
}

// checkedBy takes the asset's checksum out of a checksums file, in the format of
// sha256sum. A file that does not name the asset is an error: it was meant to.
func (a *Asset) checkedBy(checksums []byte) error {
	if checksums == nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(checksums))
	for lines.Scan() {
		sum, file, ok := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		file = strings.TrimPrefix(strings.TrimSpace(file), "*")
		if ok && path.Base(file) == a.file {
			if sum = strings.ToLower(sum); !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(sum) {
				return fmt.Errorf("%s has no SHA-256 for %s", checksumsFile, a.file)
			}
			a.SHA256 = sum
			return nil
		}
	}
	return fmt.Errorf("%s does not name %s", checksumsFile, a.file)
}

func (f Fetcher) findURL(ctx context.Context, address, name string) (*Asset, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	a, err := named(path.Base(u.Path), name)
	if err != nil {
		return nil, err
	}
	a.Source, a.open = address, func(ctx context.Context) (io.ReadCloser, error) { return f.get(ctx, address, "") }
	at := func(name string) string {
		beside := *u
		beside.Path, beside.RawQuery = path.Join(path.Dir(u.Path), name), ""
		return beside.String()
	}
	for _, end := range bundleEnds {
		a.files = append(a.files, a.file+end)
	}
	a.beside = func(ctx context.Context, name string) (io.ReadCloser, error) { return f.get(ctx, at(name), "") }
	checksums, err := f.read(ctx, at(checksumsFile), "", maxChecksums)
	if errors.Is(err, errNotThere) {
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	return a, a.checkedBy(checksums)
}

func (f Fetcher) findGitHub(ctx context.Context, owner, repository, version, name string) (*Asset, error) {
	which := "latest"
	if version != "" {
		which = "tags/" + url.PathEscape(version)
	}
	api := cmp.Or(f.GitHub, "https://api.github.com")
	text, err := f.read(ctx, fmt.Sprintf("%s/repos/%s/%s/releases/%s", api, owner, repository, which), f.Token, maxRelease)
	if errors.Is(err, errNotThere) && version != "" && !strings.HasPrefix(version, "v") {
		return f.findGitHub(ctx, owner, repository, "v"+version, name)
	}
	if err != nil {
		return nil, fmt.Errorf("look for the release %s of github.com/%s/%s: %w", cmp.Or(version, "that is the latest"), owner, repository, err)
	}
	var release struct {
		Tag    string `json:"tag_name"`
		Assets []struct {
			Name string `json:"name"`
			URL  string `json:"browser_download_url"`
		} `json:"assets"`
	}
	if err := json.Unmarshal(text, &release); err != nil {
		return nil, fmt.Errorf("GitHub's answer about github.com/%s/%s: %w", owner, repository, err)
	}
	addresses := map[string]string{}
	var files []string
	for _, asset := range release.Assets {
		addresses[asset.Name] = asset.URL
		files = append(files, asset.Name)
	}
	a, err := choose(files, name)
	if err != nil {
		return nil, fmt.Errorf("release %s of github.com/%s/%s: %w", release.Tag, owner, repository, err)
	}
	a.Source, a.Version = "github.com/"+owner+"/"+repository, release.Tag
	a.Repository, a.onGitHub, a.files = owner+"/"+repository, true, files
	a.beside = func(ctx context.Context, name string) (io.ReadCloser, error) { return f.get(ctx, addresses[name], "") }
	a.open = func(ctx context.Context) (io.ReadCloser, error) { return a.beside(ctx, a.file) }
	if addresses[checksumsFile] == "" {
		return a, nil
	}
	checksums, err := f.read(ctx, addresses[checksumsFile], "", maxChecksums)
	if err != nil {
		return nil, err
	}
	return a, a.checkedBy(checksums)
}

var errNotThere = errors.New("there is no such thing")

func (f Fetcher) read(ctx context.Context, address, token string, limit int64) ([]byte, error) {
	body, err := f.get(ctx, address, token)
	if err != nil {
		return nil, err
	}
	return readBounded(body, address, limit)
}

func (f Fetcher) get(ctx context.Context, address, token string) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("User-Agent", "collet")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", "application/vnd.github+json")
	}
	client := f.HTTP
	if client == nil {
		client = &http.Client{CheckRedirect: stayEncrypted}
	}
	res, err := client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		cancel()
		if res.StatusCode == http.StatusNotFound {
			return nil, fmt.Errorf("%s: %w", address, errNotThere)
		}
		return nil, fmt.Errorf("%s: %s", address, res.Status)
	}
	return &answer{res.Body, cancel}, nil
}

// maxRedirects is as many as browsers follow.
const maxRedirects = 10

// stayEncrypted follows no redirect from https to http.
func stayEncrypted(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errors.New("too many redirects")
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("it redirects to %s, which is not encrypted", req.URL.Host)
	}
	return nil
}

type answer struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (a *answer) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}
