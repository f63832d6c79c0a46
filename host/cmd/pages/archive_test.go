package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// everything is what make build makes, as it ships. Without COLLET_BIN_DIR it is what
// lies in bin, and nothing is built for these tests.
func everything(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("make install is for systems with a shell")
	}
	dir := os.Getenv("COLLET_BIN_DIR")
	if dir == "" {
		dir = filepath.Join(root, "bin")
		if _, err := os.Stat(filepath.Join(dir, "collet-attest")); err != nil {
			t.Skip("make build was not run: there is nothing to install")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, info.Mode()), os.Chmod(to, info.Mode())); err != nil {
		t.Fatal(err)
	}
}

// matches are the files that a pattern of .goreleaser.yaml names, in the slashes of its
// directory: fileglob's ** is any directories, none included.
func matches(t *testing.T, dir, pattern string) []string {
	t.Helper()
	below, deep := strings.CutSuffix(pattern, "/**/*")
	if !deep {
		if strings.ContainsAny(pattern, "*?[{") {
			t.Fatalf("this test does not understand the pattern %q", pattern)
		}
		return []string{pattern}
	}
	var all []string
	err := filepath.WalkDir(filepath.Join(dir, below), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %q, %v", pattern, all, err)
	}
	return all
}

// unpacked is the directory that the archive of a release holds for this system, put
// together as goreleaser does it (internal/archivefiles of its source): programs at its
// top, files where they are in the repository, and those with a dst below that, by their
// paths from the directory that all of them have in common.
func unpacked(t *testing.T, bin, pages string) string {
	t.Helper()
	r := readRelease(t)
	repository := t.TempDir()
	for _, f := range []string{"LICENSE", "README.md"} {
		copyFile(t, filepath.Join(root, f), filepath.Join(repository, f))
	}
	for _, at := range []struct{ from, to string }{{filepath.Join(root, "packaging"), "packaging"}, {pages, "bin/share"}} {
		if err := os.CopyFS(filepath.Join(repository, filepath.FromSlash(at.to)), os.DirFS(at.from)); err != nil {
			t.Fatal(err)
		}
	}
	name := strings.NewReplacer("{{ .Version }}", "1.2.3", "{{ .Os }}", runtime.GOOS, "{{ .Arch }}", runtime.GOARCH).Replace(r.Archives[0].NameTemplate)
	if strings.Contains(name, "{{") || !r.Archives[0].WrapInDirectory {
		t.Fatalf("this test does not understand the archive %q", name)
	}
	dir := filepath.Join(t.TempDir(), name)
	for _, b := range r.Builds {
		copyFile(t, filepath.Join(bin, b.Binary), filepath.Join(dir, b.Binary))
	}
	for _, f := range r.Archives[0].Files {
		found := matches(t, repository, f.Src)
		common := found[0]
		for _, path := range found {
			for !strings.HasPrefix(path, common) {
				common = common[:len(common)-1]
			}
		}
		for _, path := range found {
			to := path
			if f.Dst != "" {
				rel, err := filepath.Rel(filepath.Dir(common), path)
				if err != nil {
					t.Fatal(err)
				}
				to = filepath.Join(f.Dst, rel)
			}
			copyFile(t, filepath.Join(repository, path), filepath.Join(dir, to))
		}
	}
	return dir
}

// The archive of a release installs by itself, away from the repository, and what it
// installs is what make install does.
func TestArchiveInstalls(t *testing.T) {
	bin := everything(t)
	p := place{root: t.TempDir(), prefix: "/usr/local", bin: bin, pages: written(t)}
	p.install(t, "systemd")

	archive := unpacked(t, bin, p.pages)
	prefix := filepath.Join(t.TempDir(), "prefix")
	cmd := exec.Command(filepath.Join("packaging", "install.sh"), "install", ".", "share") // as docs/install.md says
	cmd.Dir = archive
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PREFIX=" + prefix, "SERVICE=systemd"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := place{root: prefix, prefix: "/"}.files(t)
	if want := p.files(t); !slices.Equal(all, want) || !slices.Contains(all, "bin/collet-attest") {
		t.Errorf("the archive installs\n%q, make install\n%q", all, want)
	}
	if err := os.RemoveAll(archive); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(prefix, "bin", "collet"), "version").Output()
	if err != nil || !bytes.HasPrefix(out, []byte("collet ")) {
		t.Errorf("%q, %v", out, err)
	}
}
