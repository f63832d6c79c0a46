package install

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/plugins/attestation"
)

// kept is where the fake GitHub has what it keeps of releases: in a directory that is
// no release, by digest. A file whose name ends in .sn is stored, and not in the answer.
const kept = "attestations"

// answerAttestations answers as GitHub's API does (REST API 2022-11-28, "List
// attestations").
func answerAttestations(w http.ResponseWriter, r *http.Request, releases map[string]string, digest, downloads string) {
	switch {
	case r.Header.Get("Authorization") != "Bearer secret" || r.URL.Query().Get("predicate_type") != "https://slsa.dev/provenance/v1":
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	case strings.Contains(releases[kept], "limited"):
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if data, err := os.ReadFile(filepath.Join(releases[kept], digest)); err == nil {
		fmt.Fprintf(w, `{"attestations":[{"repository_id":1,"bundle":%s,"bundle_url":"%s/%s/%s.sn"}]}`, data, downloads, kept, digest)
		return
	}
	if _, err := os.Stat(filepath.Join(releases[kept], digest+".sn")); err == nil {
		fmt.Fprintf(w, `{"attestations":[{"repository_id":1,"bundle":null,"bundle_url":"%s/%s/%s.sn"}]}`, downloads, kept, digest)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"message":"Not Found","status":"404"}`)
}

// bundlesOf finds and stages what source names, and returns the bundles of it.
func bundlesOf(t *testing.T, f Fetcher, source string) ([]attestation.Bundle, error) {
	t.Helper()
	a, err := f.Find(t.Context(), source, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Stage(t.Context(), Store{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return f.Bundles(t.Context(), a, p)
}

func TestBundlesBeside(t *testing.T) {
	packed := tarGz(t, entry{"collet-plugin-x", "the plugin", tar.TypeReg})
	for what, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"none":                {map[string][]byte{asset: []byte("the plugin")}, ""},
		"of the file":         {map[string][]byte{asset: []byte("the plugin"), asset + ".sigstore.json": []byte("own"), "all.sigstore.json": []byte("all")}, "own"},
		"of the archive":      {map[string][]byte{asset + ".tar.gz": packed, asset + ".tar.gz.sigstore.json": []byte("own")}, "own"},
		"without its ending":  {map[string][]byte{asset + ".tar.gz": packed, asset + ".intoto.jsonl": []byte("own")}, "own"},
		"of the release":      {map[string][]byte{asset: []byte("the plugin"), "multiple.intoto.jsonl": []byte("all")}, "all"},
		"of another platform": {map[string][]byte{asset: []byte("the plugin"), prefix + "x_plan9_mips.zip": nil, prefix + "x_plan9_mips.sigstore.json": []byte("other")}, ""},
		"by digest":           {map[string][]byte{asset: []byte("the plugin"), "sha256:" + sum("the plugin") + ".jsonl": []byte("gh"), "sha256:" + sum("other") + ".jsonl": []byte("other")}, "gh"},
		"by what is packed":   {map[string][]byte{asset + ".tar.gz": packed, "sha256-" + sum("the plugin") + ".jsonl": []byte("gh")}, "gh"},
	} {
		dir := release(t, c.files)
		server := httptest.NewServer(http.FileServer(http.Dir(dir)))
		var file string
		for name := range c.files {
			if strings.HasPrefix(name, asset) && !strings.Contains(name, "sigstore") && !strings.Contains(name, "intoto") {
				file = name
			}
		}
		f, _ := fakeGitHub(t, map[string]string{"v1": dir}, "v1")
		sources := []string{dir, "github.com/acme/collet-plugin-x"}
		if c.want == "own" || c.want == "" {
			sources = append(sources, filepath.Join(dir, file))
		}
		for _, source := range sources {
			all, err := bundlesOf(t, f, source)
			var got []string
			for _, b := range all {
				got = append(got, string(b.Data))
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%s: %s: %q, %v, not %q", what, source, got, err, c.want)
			}
		}
		server.Close()
	}
}

func TestBundlesOfAnAddress(t *testing.T) {
	s := httptest.NewServer(http.FileServer(http.Dir(release(t, map[string][]byte{asset: []byte("the plugin"), asset + ".sigstore.json": []byte("own")}))))
	defer s.Close()
	if all, err := bundlesOf(t, Fetcher{}, s.URL+"/"+asset); err != nil || len(all) != 1 || string(all[0].Data) != "own" {
		t.Errorf("%q, %v", all, err)
	}
}

func TestBundlesOfGitHub(t *testing.T) {
	dir := release(t, map[string][]byte{asset + ".tar.gz": tarGz(t, entry{"collet-plugin-x", "the plugin", tar.TypeReg})})
	for what, c := range map[string]struct {
		name, data, want string
	}{
		"kept":   {sum("the plugin"), `{"b":1}`, `{"b":1}`},
		"stored": {sum("the plugin") + ".sn", "compressed", "compressed"},
		"none":   {sum("other"), "{}", ""},
	} {
		at := t.TempDir()
		if err := os.WriteFile(filepath.Join(at, c.name), []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		f, tokens := fakeGitHub(t, map[string]string{"v1": dir, kept: at}, "v1")
		all, err := bundlesOf(t, f, "github.com/acme/collet-plugin-x")
		if err != nil || len(all) > 1 || len(all) == 1 && string(all[0].Data) != c.want || len(all) == 0 && c.want != "" {
			t.Errorf("%s: %q, %v", what, all, err)
		}
		for _, token := range *tokens {
			if token != "" {
				t.Errorf("%s: the token was sent to where bundles are", what)
			}
		}
	}
	// Who cannot be asked has not said that there is none.
	f, _ := fakeGitHub(t, map[string]string{"v1": dir, kept: "limited"}, "v1")
	if all, err := bundlesOf(t, f, "github.com/acme/collet-plugin-x"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("%q, %v", all, err)
	}
}

// zeros are as many bytes as are read.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBundlesAreBounded(t *testing.T) {
	a := &Asset{Name: "x", file: asset, files: []string{asset + ".sigstore.json"}}
	a.beside = func(context.Context, string) (io.ReadCloser, error) { return io.NopCloser(zeros{}), nil }
	if _, err := (Fetcher{}).Bundles(t.Context(), a, &Staged{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
	a.files = nil
	for i := range maxBundles + 1 {
		a.files = append(a.files, fmt.Sprintf("%d.sigstore.json", i))
	}
	if _, err := (Fetcher{}).Bundles(t.Context(), a, &Staged{}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
}

func TestDiscard(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	first, err := s.Stage(t.Context(), "x", strings.NewReader("content"), "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Stage(t.Context(), "x", strings.NewReader("content"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Use(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	again.Discard() // somebody uses it
	if inUse(t, s, "x") != "content" {
		t.Error("what is in use was discarded")
	}
	third, err := s.Stage(t.Context(), "x", strings.NewReader("something else"), "")
	if err != nil {
		t.Fatal(err)
	}
	third.Discard()
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "store")); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
}
