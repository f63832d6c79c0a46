package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// colletDir is where collet and collet-attest are, built as they ship. COLLET_BIN_DIR
// names it; without, they are built.
func colletDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("COLLET_BIN_DIR"); dir != "" {
		return dir
	}
	dir := t.TempDir()
	for _, p := range []string{"collet ../host/cmd/collet", "collet-attest ."} {
		name, pkg, _ := strings.Cut(p, " ")
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// user is somebody who installs plugins.
type user struct {
	home, bin, github string
}

func (u *user) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(u.bin, "collet"), args...)
	cmd.Dir = u.home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot"), "HOME=" + u.home, "XDG_DATA_HOME=" + filepath.Join(u.home, "data"),
		"XDG_CONFIG_HOME=" + filepath.Join(u.home, "config"), "XDG_STATE_HOME=" + filepath.Join(u.home, "state"), "XDG_CACHE_HOME=" + filepath.Join(u.home, "cache"),
		"COLLET_GITHUB_API=" + u.github,
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// installed are the files of the store.
func (u *user) installed(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(u.home, "data", "collet", "plugins", "store", "*", "*"))
	must(t, err)
	return files
}

var plugin = "collet-plugin-x_" + runtime.GOOS + "_" + runtime.GOARCH

// mirror is a directory as a release is.
func mirror(t *testing.T, content string, bundle []byte) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, plugin), []byte(content), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(digest(content)+"  "+plugin+"\n"), 0o600))
	if bundle != nil {
		must(t, os.WriteFile(filepath.Join(dir, plugin+".sigstore.json"), bundle, 0o600))
	}
	return dir
}

// gitHub answers about one release, and keeps a bundle of what is in it.
func gitHub(t *testing.T, content string, bundle []byte) string {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("GET /repos/acme/collet-plugin-x/releases/latest", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"tag_name":"v1.0.0","assets":[{"name":%q,"browser_download_url":"%s/file"},{"name":"checksums.txt","browser_download_url":"%s/sums"}]}`, plugin, s.URL, s.URL)
	})
	mux.HandleFunc("GET /file", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, content) })
	mux.HandleFunc("GET /sums", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%s  %s\n", digest(content), plugin) })
	mux.HandleFunc("GET /repos/acme/collet-plugin-x/attestations/{digest}", func(w http.ResponseWriter, r *http.Request) {
		if bundle == nil || r.PathValue("digest") != "sha256:"+digest(content) {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"attestations":[{"repository_id":1,"bundle":%s}]}`, bundle)
	})
	return s.URL
}

// From a release to a file in place, with the programs as they ship.
func TestColletInstalls(t *testing.T) {
	s, stranger := newSigstore(t), newSigstore(t)
	u := &user{bin: colletDir(t)}
	trusted := s.trustedRoot(t, time.Time{})
	const source = "github.com/" + repository
	good := s.attest(t, by(repository, "the plugin"))
	for what, c := range map[string]struct {
		bundle []byte
		args   []string
		code   int
		says   string
	}{
		"good":               {good, nil, 0, "attested by github.com/" + repository + workflow},
		"good and required":  {good, []string{"--require-attestation"}, 0, "attested by github.com/" + repository},
		"absent":             {nil, nil, 0, "attested by nobody"},
		"absent and wanted":  {nil, []string{"--require-attestation"}, 5, "it is not attested"},
		"other repository":   {s.attest(t, by("evil/x", "the plugin")), nil, 5, "evil/x/.github/workflows/release.yml@refs/tags/v1.0.0 signed it"},
		"other digest":       {s.attest(t, by(repository, "another")), nil, 5, "another file"},
		"untrusted root":     {stranger.attest(t, by(repository, "the plugin")), nil, 5, "does not hold (signature)"},
		"tampered":           {tampered(t, good, "sig"), nil, 5, "does not hold (signature)"},
		"garbage":            {[]byte(`"garbage"`), nil, 5, "does not hold (bundle)"},
		"of another release": {attestedAt(t, s, "refs/tags/v0.9.0"), nil, 5, "is of the release v0.9.0"},
		"of a branch":        {attestedAt(t, s, "refs/heads/main"), nil, 0, "attested by"},
	} {
		u.home, u.github = t.TempDir(), gitHub(t, "the plugin", c.bundle)
		out, code := u.run(t, append([]string{"plugins", "install", source, "--trusted-root", trusted}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s: exit code %d: %s", what, code, out)
		}
		if files := u.installed(t); (len(files) == 1) != (c.code == 0) || c.code != 0 && !strings.Contains(out, "nothing was installed") {
			t.Errorf("%s: %v is installed: %s", what, files, out)
		}
	}
}

func attestedAt(t *testing.T, s *sigstore, ref string) []byte {
	t.Helper()
	c := by(repository, "the plugin")
	c.ref = ref
	return s.attest(t, c)
}

// What a directory carries is enough, without a network.
func TestColletInstallsOffline(t *testing.T) {
	s := newSigstore(t)
	u := &user{bin: colletDir(t), home: t.TempDir(), github: "http://127.0.0.1:1"}
	trusted := s.trustedRoot(t, time.Time{})
	dir := mirror(t, "the plugin", s.attest(t, by(repository, "the plugin")))
	for what, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"of the public Sigstore": {nil, 5, "does not hold (signature)"},
		"another repository":     {[]string{"--trusted-root", trusted, "--repository", "github.com/acme/other"}, 5, "not a workflow of github.com/acme/other"},
		"required of nobody":     {[]string{"--trusted-root", trusted, "--require-attestation"}, 2, "needs --repository"},
	} {
		if out, code := u.run(t, append([]string{"plugins", "install", dir}, c.args...)...); code != c.code || !strings.Contains(out, c.says) || len(u.installed(t)) > 0 {
			t.Errorf("%s: exit code %d: %s", what, code, out)
		}
	}
	must(t, os.WriteFile(filepath.Join(u.home, "mcp.toml"), []byte("[servers.x]\nplugin = \"x\"\n"), 0o600))
	out, code := u.run(t, "--config", "mcp.toml", "plugins", "install", dir, "--trusted-root", trusted, "--repository", "github.com/"+repository, "--require-attestation")
	if code != 0 || !strings.Contains(out, "attested by github.com/"+repository) {
		t.Fatalf("exit code %d: %s", code, out)
	}
	data, err := os.ReadFile(filepath.Join(u.home, "data", "collet", "plugins", "receipts", "x.json"))
	must(t, err)
	var receipt struct {
		Attested struct{ Signer, Issuer, Repository, Commit string }
	}
	must(t, json.Unmarshal(data, &receipt))
	if a := receipt.Attested; a.Signer != "https://github.com/"+repository+workflow || a.Repository != "https://github.com/"+repository || a.Issuer == "" || a.Commit == "" {
		t.Errorf("%s", data)
	}
	lock, err := os.ReadFile(filepath.Join(u.home, "mcp.lock"))
	must(t, err)
	if !strings.Contains(string(lock), `"signer": "https://github.com/`+repository+workflow+`"`) {
		t.Errorf("%s", lock)
	}
	if out, code := u.run(t, "--config", "mcp.toml", "plugins", "list"); code != 0 || !strings.Contains(out, "github.com/"+repository+workflow) {
		t.Errorf("plugins list: exit code %d: %s", code, out)
	}
	// From then on it is that repository, and it is attested.
	put := func(content string, bundle []byte) {
		next := mirror(t, content, bundle)
		must(t, os.RemoveAll(dir))
		must(t, os.Rename(next, dir))
	}
	put("the next one", nil)
	if out, code := u.run(t, "plugins", "upgrade", "--trusted-root", trusted); code != 5 || !strings.Contains(out, "the version in use was, by https://github.com/"+repository) {
		t.Errorf("exit code %d: %s", code, out)
	}
	put("the next one", s.attest(t, by("evil/x", "the next one")))
	if out, code := u.run(t, "plugins", "upgrade", "--trusted-root", trusted); code != 5 || !strings.Contains(out, "evil/x") {
		t.Errorf("exit code %d: %s", code, out)
	}
	put("the next one", s.attest(t, by(repository, "the next one")))
	if out, code := u.run(t, "plugins", "upgrade", "--trusted-root", trusted); code != 0 || !strings.Contains(out, "attested by github.com/"+repository) {
		t.Errorf("exit code %d: %s", code, out)
	}
}
