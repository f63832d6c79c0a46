package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../../.."

// release is what .goreleaser.yaml says, as far as collet's says anything: other keys
// are faults here.
type release struct {
	Version     int
	ProjectName string `yaml:"project_name"`
	Before      struct{ Hooks []string }
	Builds      []struct {
		ID, Dir, Main, Binary, Ldflags string
		Env, Flags                     []string
		Goos, Goarch                   []string
		ModTimestamp                   string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		NameTemplate    string `yaml:"name_template"`
		WrapInDirectory bool   `yaml:"wrap_in_directory"`
		Formats         []string
		FormatOverrides []struct {
			Goos    string
			Formats []string
		} `yaml:"format_overrides"`
		Files []file
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string
	}
	Release, Changelog struct{ Disable bool }
}

// file is a pattern, or where what it names is put.
type file struct{ Src, Dst string }

func (f *file) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&f.Src)
	}
	type plain file
	return node.Decode((*plain)(f))
}

func readRelease(t *testing.T) release {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var r release
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&r); err != nil {
		t.Fatalf(".goreleaser.yaml: %v", err)
	}
	return r
}

var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// A release has collet, what verifies attestations, and every plugin of the workspace for
// every system, and is not published.
func TestRelease(t *testing.T) {
	r := readRelease(t)
	work, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"collet host ./cmd/collet", "collet-attest attest ."}
	for _, m := range regexp.MustCompile(`(?m)^\t\./(plugins/(\S+))$`).FindAllSubmatch(work, -1) {
		want = append(want, "collet-plugin-"+string(m[2])+" "+string(m[1])+" .")
	}
	var built []string
	for _, b := range r.Builds {
		built = append(built, strings.Join([]string{b.Binary, b.Dir, b.Main}, " "))
		var all []string
		for _, goos := range b.Goos {
			for _, goarch := range b.Goarch {
				all = append(all, goos+"/"+goarch)
			}
		}
		if !slices.Equal(all, targets) {
			t.Errorf("%s is built for %q, want %q", b.ID, all, targets)
		}
		if !slices.Equal(b.Env, []string{"CGO_ENABLED=0"}) || !slices.Equal(b.Flags, []string{"-trimpath"}) || b.ModTimestamp != "{{ .CommitTimestamp }}" {
			t.Errorf("%s is built otherwise than make build does: %+v", b.ID, b)
		}
		if strings.Contains(b.Ldflags, "-X main.version=v{{ .Version }}") != (b.Binary == "collet") {
			t.Errorf("%s is linked with %q", b.ID, b.Ldflags)
		}
	}
	if len(want) < 5 || !slices.Equal(built, want) {
		t.Errorf("a release is built of\n%q, want\n%q", built, want)
	}
	if !r.Release.Disable || r.Checksum.Algorithm != "sha256" || len(r.Archives) != 1 || r.Version != 2 {
		t.Errorf("%+v", r)
	}
}

// The archive of a release has what installs it: its files are there, and the pages
// where install.sh is told to look.
func TestReleaseArchive(t *testing.T) {
	r := readRelease(t)
	if !slices.Equal(r.Before.Hooks, []string{"make pages"}) {
		t.Errorf("before a release: %q", r.Before.Hooks)
	}
	var all []string
	for _, f := range r.Archives[0].Files {
		all = append(all, f.Src+":"+f.Dst)
		if strings.HasPrefix(f.Src, "bin/") {
			continue // made by the hook
		}
		if found, err := filepath.Glob(filepath.Join(root, strings.ReplaceAll(f.Src, "**", "*"))); err != nil || len(found) == 0 {
			t.Errorf("%s: %q, %v", f.Src, found, err)
		}
	}
	for _, want := range []string{"LICENSE:", "packaging/**/*:", "bin/share/**/*:share"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not in the archive: %q", want, all)
		}
	}
}

// Each program has what it is made of on each system; that it compiles there is for
// the release to see.
func TestReleaseTargets(t *testing.T) {
	list := []string{"list", "-deps"}
	for _, b := range readRelease(t).Builds {
		list = append(list, "./"+path.Join(b.Dir, b.Main))
	}
	for _, target := range targets {
		goos, goarch, _ := strings.Cut(target, "/")
		cmd := exec.Command("go", list...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("for %s: %v\n%s", target, err, out)
		}
	}
}
