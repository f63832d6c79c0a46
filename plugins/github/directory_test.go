package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/github/internal/randomtree"
	"github.com/collet-dev/collet/plugins/github/internal/tree"
	"github.com/collet-dev/collet/sdk/failure"
)

const demo = `{"owner":"octo","repo":"demo","branch":"main","message":"all of it"}`

// What arrives is what is on disk, whatever that is.
func TestPushDirectoryArrives(t *testing.T) {
	for seed := range uint64(8) {
		dir := t.TempDir()
		r := rand.New(rand.NewPCG(seed, 1))
		var sizes []int
		if seed%2 == 0 {
			sizes = []int{1 << 20, 1<<20 + r.IntN(1<<20), tree.MaxFile, tree.MaxFile + 1, r.IntN(1 << 20)}
		}
		randomtree.Fill(t, r, dir, sizes...)
		want := randomtree.Text(t, dir, tree.MaxFile)
		gh := fake(t)
		gh.Old = seed%3 == 0
		p := serve(t, config{URL: gh.URL, Root: dir})
		got, isError, err := p.call(t, "push_directory", demo)
		if len(want) == 0 {
			wantFailure(t, err, failure.InvalidArguments, failure.NotSent)
			continue
		}
		if err != nil || isError {
			t.Fatalf("seed %d: %s, %v, %v", seed, got, isError, err)
		}
		there := gh.Files("octo/demo", "main")
		if want["README.md"] == "" {
			delete(there, "README.md") // of the first commit that GitHub needs
		}
		if !maps.Equal(there, want) {
			t.Errorf("seed %d: there are %q\nwant %q", seed, slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(want)))
		}
		report := gjson.Get(got, "structuredContent")
		if n := report.Get("pushed").Int(); n != int64(len(want)) {
			t.Errorf("seed %d: %d pushed, want %d", seed, n, len(want))
		}
		if commits := report.Get("commits.#").Int(); sizes != nil && commits < 2 || sizes == nil && commits != 1 {
			t.Errorf("seed %d: %d commits for %v", seed, commits, sizes)
		}
	}
}

func TestPushDirectoryLost(t *testing.T) {
	for name, ran := range map[string]bool{"after it arrived": true, "before it arrived": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o644); err != nil {
				t.Fatal(err)
			}
			gh := fake(t)
			gh.Commit("octo/demo", "main", "before", map[string]string{"old": ""})
			var lost atomic.Bool
			gh.Lose = func(tool string, did bool) bool {
				return tool == "push_files" && did == ran && lost.CompareAndSwap(false, true)
			}
			p := serve(t, config{URL: gh.URL, Root: dir})
			got, _, err := p.call(t, "push_directory", demo)
			if err != nil {
				t.Fatal(err)
			}
			if m := gh.Messages("octo/demo", "main"); !slices.Equal(m, []string{"before", "all of it"}) || gh.Files("octo/demo", "main")["a.txt"] != "a" || !lost.Load() {
				t.Errorf("commits %q after %s", m, got)
			}
		})
	}
}

func TestPushDirectoryRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	gh := fake(t)
	text := ""
	gh.Answer = func(tool string, _ json.RawMessage) (string, bool, bool) {
		return text, true, text != "" && tool == "push_files"
	}
	p := serve(t, config{URL: gh.URL, Root: dir, Writable: []string{"octo/demo"}})
	for _, args := range []string{
		`{"owner":"octo","repo":"other","branch":"main","message":"m"}`,
		`{"owner":"octo","repo":"demo","branch":"main","message":"m","dir":".."}`,
		`{"owner":"octo","repo":"demo","branch":"main","message":"m","into":"../x"}`,
		`{"owner":"octo","repo":"demo","branch":"main","message":"m","into":"/x"}`,
	} {
		_, _, err := p.call(t, "push_directory", args)
		wantFailure(t, err, failure.InvalidArguments, failure.NotSent)
	}
	if _, _, err := p.call(t, "list_commits", `{"owner":"octo","repo":"demo"}`); failure.Classify(err).Class != failure.NotFound {
		t.Errorf("a tool that is only there for push_directory: %v", err)
	}
	if _, _, err := p.call(t, "push_directory", `{"owner":"octo","repo":"demo","branch":"main","message":"m","into":"sub/dir/"}`); err != nil {
		t.Fatal(err)
	}
	if files := gh.Files("octo/demo", "main"); files["sub/dir/a.txt"] != "a" {
		t.Errorf("files %v", files)
	}
	text = "failed to create tree: POST https://api.github.com/x: 403 Resource not accessible by personal access token []"
	_, _, err := p.call(t, "push_directory", demo)
	wantFailure(t, err, failure.AuthFailure, failure.Answered)
	text = "failed to create tree: POST https://api.github.com/x: 422 tree.path contains a malformed path component []"
	_, _, err = p.call(t, "push_directory", demo)
	if f := wantFailure(t, err, failure.ServerError, failure.Answered); !strings.Contains(f.Message, "malformed path") {
		t.Errorf("%q", f.Message)
	}
}

// Without root it is the directory that the plugin runs in, unless that is too much.
func TestPushDirectoryRoot(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	gh := fake(t)
	for at, env := range map[string]string{dir: "HOME=" + dir, "/": "HOME=/nowhere"} {
		p := start(t, at, "GITHUB_TOKEN=ghp_fine", env)
		if err := p.configure(t, config{URL: gh.URL}); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.call(t, "push_directory", demo)
		if f := wantFailure(t, err, failure.InvalidArguments, failure.NotSent); !strings.Contains(f.Message, "set root") {
			t.Errorf("%s: %v", at, f)
		}
	}
	p := start(t, dir, "GITHUB_TOKEN=ghp_fine")
	if err := p.configure(t, config{URL: gh.URL}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.call(t, "push_directory", demo); err != nil || gh.Files("octo/demo", "main")["a.txt"] != "a" {
		t.Errorf("from the working directory: %v", err)
	}
}

// What is executable on disk is a plain file at GitHub, and that is said.
func TestExecutableIsLost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not executable by their mode here")
	}
	dir := t.TempDir()
	gh := fake(t)
	p := serve(t, config{URL: gh.URL, Root: dir})
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _, err := p.call(t, "push_directory", demo); err != nil || gjson.Get(got, "structuredContent.warnings").Exists() {
		t.Errorf("nothing executable: %s, %v", got, err)
	}
	for i := range 12 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("run%02d.sh", i)), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := p.call(t, "push_directory", demo)
	if w := gjson.Get(got, "structuredContent.warnings"); err != nil || len(w.Array()) != 1 || !strings.Contains(w.Get("0").Str, "run00.sh, run01.sh") ||
		!strings.Contains(w.Get("0").Str, "run09.sh and 2 more;") || strings.Contains(w.Get("0").Str, "a.txt") {
		t.Errorf("%s, %v", got, err)
	}
}
