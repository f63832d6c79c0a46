package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/collet-dev/collet/host/internal/cli"
)

const packaging = "../../../packaging"

// written are the pages in a directory of the test.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := write(dir, "1767225600"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every command that a person can see has a page, which names its options.
func TestEveryCommandHasAPage(t *testing.T) {
	dir := written(t)
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		page := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, "man", "man1", page))
		if err != nil {
			t.Error(err)
			return
		}
		if !bytes.Contains(text, []byte(`"Jan 2026"`)) {
			t.Errorf("%s is not of the date that was asked for: %.120s", page, text)
		}
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				look(child)
			}
		}
	}
	look(cli.Command())
	if err := write(t.TempDir(), "yesterday"); err == nil {
		t.Error("a date that is none was taken")
	}
}

// Texts arrive as they were written: globs, underscores, angle brackets, lines that are indented.
func TestPagesRender(t *testing.T) {
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("no man here: pages are not rendered")
	}
	dir := written(t)
	for page, texts := range map[string][]string{
		"collet":            {"collet <command>", "Exit codes: 0 ok;"},
		"collet-tools-call": {"\n         key:=json    JSON, passed on byte for byte\n", "--timeout=0s", "files/read_text_file path=notes.md"},
		"collet-tools-list": {"*_issue"},
	} {
		cmd := exec.Command("man", "--warnings", "-l", filepath.Join(dir, "man", "man1", page+".1"))
		cmd.Env = append(os.Environ(), "MANWIDTH=160", "MANPAGER=cat", "LC_ALL=C.UTF-8", "GROFF_NO_SGR=1", "MANROFFOPT=-c")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Errorf("man %s: %v\n%s", page, err, stderr.Bytes())
			continue
		}
		for len(out) > 0 && bytes.IndexByte(out, '\b') > 0 { // bold is a letter struck twice
			i := bytes.IndexByte(out, '\b')
			out = slices.Delete(out, i-1, i+1)
		}
		for _, text := range texts {
			if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), strings.Join(strings.Fields(text), " ")) ||
				strings.HasPrefix(text, "\n") && !bytes.Contains(out, []byte(text)) {
				t.Errorf("%s does not say %q:\n%s", page, text, out)
			}
		}
	}
}

// Each shell takes its script.
func TestShellsTakeTheirScripts(t *testing.T) {
	dir := written(t)
	for shell, script := range map[string]string{"bash": "collet.bash", "zsh": "_collet", "fish": "collet.fish"} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("no %s here", shell)
			}
			if out, err := exec.Command(shell, "-n", filepath.Join(dir, "completions", script)).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// place is a tree that something is installed into.
type place struct{ root, prefix, bin, pages string }

func (p place) script(service string, args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(packaging, "install.sh"), args...)
	cmd.Env = append(os.Environ(), "PREFIX="+p.prefix, "DESTDIR="+p.root, "SERVICE="+service)
	return cmd.CombinedOutput()
}

func (p place) install(t *testing.T, service string) {
	t.Helper()
	if out, err := p.script(service, "install", p.bin, p.pages); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
}

// files are those below the root, sorted.
func (p place) files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(filepath.Join(p.root, p.prefix), path)
			all = append(all, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// newPlace has a bin of programs that only say their names.
func newPlace(t *testing.T) place {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("make install is for systems with a shell")
	}
	p := place{root: filepath.Join(t.TempDir(), "root dir"), prefix: "/opt/col let", bin: t.TempDir(), pages: written(t)}
	for _, name := range []string{"collet", "collet-attest", "collet-plugin-mcp", "collet-plugin-hello", "something-else"} {
		if err := os.WriteFile(filepath.Join(p.bin, name), []byte("#!/bin/sh\necho "+name+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// What is installed is a tree as systems want it, and nothing of it stays.
func TestInstall(t *testing.T) {
	p := newPlace(t)
	p.install(t, "systemd")
	all := p.files(t)
	for _, want := range []string{
		"bin/collet", "bin/collet-attest", "bin/collet-plugin-mcp", "share/man/man1/collet.1", "share/man/man1/collet-tools-call.1",
		"share/bash-completion/completions/collet", "share/zsh/site-functions/_collet", "share/fish/vendor_completions.d/collet.fish",
		"share/systemd/user/collet.service", "share/collet/installed",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not there", want)
		}
	}
	for _, no := range []string{"bin/collet-plugin-hello", "bin/something-else", "share/collet/dev.collet.serve.plist"} {
		if slices.Contains(all, no) {
			t.Errorf("%s is there", no)
		}
	}
	for file, mode := range map[string]fs.FileMode{"bin/collet": 0o755, "share/man/man1/collet.1": 0o644} {
		if info, err := os.Stat(filepath.Join(p.root, p.prefix, file)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}

	// The next version has another plugin in the place of one; somebody else's files stay.
	others := filepath.Join(p.root, p.prefix, "bin", "collet-plugin-theirs")
	err := errors.Join(os.WriteFile(others, nil, 0o755), os.Rename(filepath.Join(p.bin, "collet-plugin-mcp"), filepath.Join(p.bin, "collet-plugin-new")))
	if err != nil {
		t.Fatal(err)
	}
	p.install(t, "launchd")
	all = p.files(t)
	for file, there := range map[string]bool{
		"bin/collet-plugin-new": true, "bin/collet-plugin-mcp": false, "bin/collet-plugin-theirs": true,
		"share/collet/dev.collet.serve.plist": true, "share/systemd/user/collet.service": false,
	} {
		if slices.Contains(all, file) != there {
			t.Errorf("after the second version: %s is there: %v", file, !there)
		}
	}
	if out, err := p.script("", "uninstall"); err != nil {
		t.Fatalf("uninstall: %v\n%s", err, out)
	}
	if left := p.files(t); !slices.Equal(left, []string{"bin/collet-plugin-theirs"}) {
		t.Errorf("left after uninstall: %q", left)
	}
	if out, err := p.script("", "uninstall"); err == nil || !bytes.Contains(out, []byte("nothing was installed there")) {
		t.Errorf("a second uninstall: %v\n%s", err, out)
	}
}

// Nothing is installed that could not work.
func TestInstallRefuses(t *testing.T) {
	whole := newPlace(t)
	for name, test := range map[string]struct {
		change func(*place)
		says   string
	}{
		"a relative prefix": {func(p *place) { p.prefix = "usr" }, "absolute path"},
		"no programs":       {func(p *place) { p.bin = t.TempDir() }, "run make build"},
		"no pages":          {func(p *place) { p.pages = t.TempDir() }, "run make pages"},
		"a strange prefix":  {func(p *place) { p.prefix = "/opt/$x" }, "cannot hold"},
		"an apostrophe":     {func(p *place) { p.prefix = "/opt/it's" }, "cannot hold"},
		"markup":            {func(p *place) { p.prefix = "/opt/a<b" }, "cannot hold"},
	} {
		p := whole
		p.root = t.TempDir()
		test.change(&p)
		if out, err := p.script("systemd", "install", p.bin, p.pages); err == nil || !strings.Contains(string(out), test.says) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if all := p.files(t); len(all) > 0 {
			t.Errorf("%s: installed %q", name, all)
		}
	}
}

// The files of services are such to those who read them.
func TestServices(t *testing.T) {
	p := newPlace(t)
	p.prefix = "/opt/a collet"
	for _, service := range []string{"systemd", "launchd"} {
		p.root = t.TempDir()
		p.install(t, service)
		t.Run(service, func(t *testing.T) {
			share := filepath.Join(p.root, p.prefix, "share")
			if service == "launchd" {
				plist(t, filepath.Join(share, "collet", "dev.collet.serve.plist"))
				return
			}
			unit, err := os.ReadFile(filepath.Join(share, "systemd", "user", "collet.service"))
			if err != nil || !strings.Contains(string(unit), "\nExecStart=\"/opt/a collet/bin/collet\" serve --http 127.0.0.1:") {
				t.Fatalf("%v\n%s", err, unit)
			}
			if _, err := exec.LookPath("systemd-analyze"); err != nil {
				t.Skip("no systemd-analyze here: the unit is not verified")
			}
			// It looks for the program, which is below the root here.
			file := filepath.Join(t.TempDir(), "collet.service")
			if err := os.WriteFile(file, bytes.ReplaceAll(unit, []byte(p.prefix), []byte(filepath.Join(p.root, p.prefix))), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("systemd-analyze", "verify", "--user", "--man=no", file)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("collet.service")) {
				t.Errorf("systemd-analyze verify: %v\n%s", err, out)
			}
		})
	}
}

// plist checks that a property list is XML and says what launchd needs.
func plist(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for dec := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := dec.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(fmt.Errorf("%s is no XML: %w", file, err))
		}
		if text, ok := token.(xml.CharData); ok && len(bytes.TrimSpace(text)) > 0 {
			texts = append(texts, string(text))
		}
	}
	for key, value := range map[string]string{"Label": "dev.collet.serve", "ProgramArguments": "/bin/sh"} {
		if i := slices.Index(texts, key); i < 0 || texts[i+1] != value {
			t.Errorf("%s is not %s: %q", key, value, texts)
		}
	}
	if !slices.ContainsFunc(texts, func(s string) bool {
		return strings.HasPrefix(s, `exec "/opt/a collet/bin/collet" serve --http 127.0.0.1:`)
	}) {
		t.Errorf("no command: %q", texts)
	}
}
