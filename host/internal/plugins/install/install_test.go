package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// This program is started again as one that is killed while it installs or prunes, and
// as a plugin that runs until its stdin ends.
func TestMain(m *testing.M) {
	if os.Getenv("RUNS") != "" {
		fmt.Println("runs")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if dir := os.Getenv("INSTALL_IN"); dir != "" {
		left, _ := strconv.Atoi(os.Getenv("STEPS"))
		s := Store{Dir: dir, step: func(string) {
			if left--; left < 0 {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {}
			}
		}}
		act := func() error { return put(context.Background(), s, "x", "the second version", "2") }
		if os.Getenv("PRUNE") != "" {
			act = func() error {
				_, err := s.Prune(context.Background(), Pruning{Named: nobody})
				return err
			}
		}
		if err := act(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func put(ctx context.Context, s Store, name, content, version string) error {
	p, err := s.Stage(ctx, name, strings.NewReader(content), "")
	if err != nil {
		return err
	}
	p.Version, p.Source = version, "somewhere"
	return s.Use(ctx, p)
}

func inUse(t *testing.T, s Store, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Dir, fileName(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Killed at whatever step, an installation leaves the version of before or the new
// one, whole and executable, a receipt that can be read, and nothing that keeps the
// next installation from working.
func TestKilledAtEveryStep(t *testing.T) {
	const first = "the first version"
	for steps := 0; ; steps++ {
		s := Store{Dir: t.TempDir()}
		if err := put(t.Context(), s, "x", first, "1"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "INSTALL_IN="+s.Dir, "STEPS="+strconv.Itoa(steps))
		cmd.Stderr = os.Stderr
		err := cmd.Run()
		got := inUse(t, s, "x")
		if got != first && got != "the second version" {
			t.Errorf("killed after %d steps, %q is in use", steps, got)
		}
		if info, err := os.Stat(filepath.Join(s.Dir, fileName("x"))); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o100 == 0 {
			t.Errorf("killed after %d steps, it cannot be executed: %v", steps, err)
		}
		r, rerr := s.Receipt("x")
		if rerr != nil || r.Version == "2" && got == first {
			t.Errorf("killed after %d steps, the receipt is %+v, %v, and %q is in use", steps, r, rerr, got)
		}
		// The first version stays for those whose pins name it.
		if data, err := os.ReadFile(filepath.Join(s.Dir, "store", sum(first), fileName("x"))); err != nil || string(data) != first {
			t.Errorf("killed after %d steps, the first version holds %q, %v", steps, data, err)
		}
		if err := put(t.Context(), s, "x", "the third version", "3"); err != nil || inUse(t, s, "x") != "the third version" {
			t.Errorf("killed after %d steps, the next installation fails: %v", steps, err)
		}
		if err == nil {
			if steps < 5 {
				t.Errorf("there were only %d steps", steps)
			}
			return
		}
	}
}

func sum(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

func TestStageRefuses(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for _, c := range []struct{ name, content, want, says string }{
		{"x", "content", sum("other"), "its checksum says"},
		{"x", "", "", "empty"},
		{"../x", "content", "", "no plugin's name"},
		{"", "content", "", "no plugin's name"},
	} {
		if p, err := s.Stage(t.Context(), c.name, strings.NewReader(c.content), c.want); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %+v, %v", c.name, p, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(s.Dir, "store", "*"))
	hidden, _ := filepath.Glob(filepath.Join(s.Dir, "store", ".*"))
	if len(left)+len(hidden) > 0 {
		t.Errorf("something is left: %v %v", left, hidden)
	}
}

func TestPinAndRemove(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if err := s.Pin(t.Context(), "x", true); !errors.Is(err, ErrNotInstalled) {
		t.Error(err)
	}
	if err := put(t.Context(), s, "x", "content", "1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Pin(t.Context(), "x", true); err != nil {
		t.Fatal(err)
	}
	if all := s.Receipts(); len(all) != 1 || !all[0].Pinned || all[0].SHA256 != sum("content") {
		t.Errorf("%+v", all)
	}
	if err := s.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(s.Dir, fileName("x"))); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := s.Remove(t.Context(), "x"); !errors.Is(err, ErrNotInstalled) {
		t.Error(err)
	}
}

// asset is the name of this platform's file of a release.
var asset = prefix + "x_" + runtime.GOOS + "_" + runtime.GOARCH

// entry is one file of an archive.
type entry struct {
	name, content string
	kind          byte
}

func tarGz(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o755}
		if e.kind == tar.TypeSymlink {
			h.Linkname = e.content
		} else {
			h.Size = int64(len(e.content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := w.Write([]byte(e.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.Create(e.name)
		if err == nil {
			_, err = f.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// release writes a directory as a release is, with checksums of what is in it.
func release(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	var sums strings.Builder
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
	}
	if err := os.WriteFile(filepath.Join(dir, checksumsFile), []byte(sums.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fetch finds, stages and uses what source names, and returns what is in use then.
func fetch(t *testing.T, f Fetcher, source string) (string, *Receipt, error) {
	t.Helper()
	s := Store{Dir: t.TempDir()}
	a, err := f.Find(t.Context(), source, "")
	if err != nil {
		return "", nil, err
	}
	p, err := a.Stage(t.Context(), s)
	if err != nil {
		return "", nil, err
	}
	if err := s.Use(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	// Whatever was in an archive, nothing but this is written.
	all := 0
	_ = filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all++
		}
		return err
	})
	want := 3 // the plugin, its receipt and the lock
	if runtime.GOOS == "windows" {
		want++ // another name of the plugin, where others have a link
	}
	if all != want {
		t.Errorf("%s: %d files were written", source, all)
	}
	r, err := s.Receipt(a.Name)
	if err != nil {
		t.Fatal(err)
	}
	return inUse(t, s, a.Name), r, nil
}

func TestDirectoryMirror(t *testing.T) {
	for what, files := range map[string]map[string][]byte{
		"plain":    {asset: []byte("the plugin"), prefix + "x_plan9_mips": []byte("another")},
		"tar":      {asset + ".tar.gz": tarGz(t, entry{"README.md", "read me", tar.TypeReg}, entry{"dir/collet-plugin-x", "the plugin", tar.TypeReg})},
		"zip":      {asset + ".zip": zipped(t, entry{"README.md", "read me", 0}, entry{"collet-plugin-x.exe", "the plugin", 0})},
		"zip slip": {asset + ".zip": zipped(t, entry{"../../evil", "evil", 0}, entry{"../../collet-plugin-x", "the plugin", 0})},
		"tar slip": {asset + ".tar.gz": tarGz(t, entry{"/etc/evil", "evil", tar.TypeReg}, entry{"../../collet-plugin-x", "the plugin", tar.TypeReg})},
		"link":     {asset + ".tar.gz": tarGz(t, entry{"collet-plugin-x", "/etc/passwd", tar.TypeSymlink}, entry{"b/collet-plugin-x", "the plugin", tar.TypeReg})},
	} {
		dir := release(t, files)
		got, r, err := fetch(t, Fetcher{}, dir)
		if err != nil || got != "the plugin" || r.Source != dir || r.Checked != checksumsFile || r.SHA256 != sum("the plugin") {
			t.Errorf("%s: %q, %+v, %v", what, got, r, err)
		}
	}
	for what, c := range map[string]struct {
		files map[string][]byte
		spoil string // a file that is something else than its checksum says
		says  string
	}{
		"not for this platform": {map[string][]byte{prefix + "x_plan9_mips": []byte("x")}, "", runtime.GOARCH},
		"changed":               {map[string][]byte{asset: []byte("the plugin")}, asset, "its checksum says"},
		"archive changed":       {map[string][]byte{asset + ".tar.gz": tarGz(t, entry{"collet-plugin-x", "the plugin", tar.TypeReg})}, asset + ".tar.gz", "its checksum says"},
		"only a link":           {map[string][]byte{asset + ".tar.gz": tarGz(t, entry{"collet-plugin-x", "/etc/passwd", tar.TypeSymlink})}, "", "there is no collet-plugin-x"},
		"no archive":            {map[string][]byte{asset + ".zip": []byte("PK?")}, "", "zip"},
	} {
		dir := release(t, c.files)
		if c.spoil != "" {
			if err := os.WriteFile(filepath.Join(dir, c.spoil), []byte("swapped"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, _, err := fetch(t, Fetcher{}, dir); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// fakeGitHub answers as GitHub's API and its downloads do (REST API 2022-11-28,
// "Get the latest release", "Get a release by tag name"), which redirect to another
// host. Its releases are directories.
func fakeGitHub(t *testing.T, releases map[string]string, latest string) (Fetcher, *[]string) {
	t.Helper()
	var tokens []string // sent to the downloads
	downloads := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
		tag, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		http.ServeFile(w, r, filepath.Join(releases[tag], filepath.Base(file)))
	}))
	t.Cleanup(downloads.Close)
	var api *httptest.Server
	api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/acme/collet-plugin-x/releases/download/"); ok {
			http.Redirect(w, r, downloads.URL+"/"+rest, http.StatusFound)
			return
		}
		if digest, ok := strings.CutPrefix(r.URL.Path, "/repos/acme/collet-plugin-x/attestations/sha256:"); ok {
			answerAttestations(w, r, releases, digest, downloads.URL)
			return
		}
		tag, ok := strings.CutPrefix(r.URL.Path, "/repos/acme/collet-plugin-x/releases/tags/")
		if r.URL.Path == "/repos/acme/collet-plugin-x/releases/latest" {
			tag, ok = latest, true
		}
		dir := releases[tag]
		if !ok || dir == "" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message":"Not Found","status":"404"}`)
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		var assets []string
		for _, e := range entries {
			assets = append(assets, fmt.Sprintf(`{"name":%q,"state":"uploaded","browser_download_url":%q}`, e.Name(), api.URL+"/acme/collet-plugin-x/releases/download/"+tag+"/"+e.Name()))
		}
		fmt.Fprintf(w, `{"tag_name":%q,"draft":false,"assets":[%s]}`, tag, strings.Join(assets, ","))
	}))
	t.Cleanup(api.Close)
	return Fetcher{GitHub: api.URL, Token: "secret"}, &tokens
}

func TestGitHubRelease(t *testing.T) {
	old := release(t, map[string][]byte{asset: []byte("the old one")})
	now := release(t, map[string][]byte{asset + ".tar.gz": tarGz(t, entry{"collet-plugin-x", "the new one", tar.TypeReg})})
	f, tokens := fakeGitHub(t, map[string]string{"v1.0.0": old, "v1.1.0": now}, "v1.1.0")
	for source, want := range map[string]string{
		"github.com/acme/collet-plugin-x":        "v1.1.0 the new one",
		"github.com/acme/collet-plugin-x@v1.0.0": "v1.0.0 the old one",
		"github.com/acme/collet-plugin-x@1.0.0":  "v1.0.0 the old one",
	} {
		got, r, err := fetch(t, f, source)
		if err != nil || r.Version+" "+got != want || r.Source != "github.com/acme/collet-plugin-x" || r.Checked == "" {
			t.Errorf("%s: %q %+v, %v", source, got, r, err)
		}
	}
	for _, token := range *tokens {
		if token != "" {
			t.Error("the token was sent to where downloads are")
		}
	}
	if _, _, err := fetch(t, f, "github.com/acme/collet-plugin-x@v9"); err == nil || !strings.Contains(err.Error(), "release v9") {
		t.Error(err)
	}
	if _, _, err := fetch(t, f, "github.com/acme/other"); err == nil {
		t.Error("a repository that there is not")
	}
	// Swapped behind its checksum, it is refused.
	if err := os.WriteFile(filepath.Join(old, asset), []byte("swapped"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := fetch(t, f, "github.com/acme/collet-plugin-x@v1.0.0"); err == nil || !strings.Contains(err.Error(), "its checksum says") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAddress(t *testing.T) {
	dir := release(t, map[string][]byte{asset: []byte("the plugin")})
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	got, r, err := fetch(t, Fetcher{}, s.URL+"/"+asset)
	if err != nil || got != "the plugin" || r.Checked == "" {
		t.Errorf("%q %+v, %v", got, r, err)
	}
	if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
		t.Fatal(err)
	}
	if _, r, err := fetch(t, Fetcher{}, s.URL+"/"+asset); err != nil || r.Checked != "" {
		t.Errorf("without checksums: %+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(dir, checksumsFile), []byte("nothing of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fetch(t, Fetcher{}, s.URL+"/"+asset); err == nil || !strings.Contains(err.Error(), "does not name") {
		t.Errorf("with checksums of something else: %v", err)
	}
}

// An encrypted download is not continued in the clear.
func TestRedirectInTheClear(t *testing.T) {
	clear := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "evil") }))
	defer clear.Close()
	s := httptest.NewTLSServer(http.RedirectHandler(clear.URL, http.StatusFound))
	defer s.Close()
	client := s.Client()
	client.CheckRedirect = stayEncrypted
	if _, err := (Fetcher{HTTP: client}).get(t.Context(), s.URL, ""); err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Error(err)
	}
}
