package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeTarget runs make in the repository with the programs that are built.
func (p place) makeTarget(t *testing.T, target string) {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("make", "-C", root, "-o", "build", target, "PREFIX="+p.prefix, "DESTDIR="+p.root, "PAGES="+p.pages)
	for _, v := range os.Environ() { // what a make above this test was told is not for this one
		if name, _, _ := strings.Cut(v, "="); !slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "CI", "SERVICE"}, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "SERVICE=systemd")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
}

// bare runs an installed program as somebody who knows nothing of where it was built,
// and returns its stdout.
func (p place) bare(t *testing.T, args ...string) string {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + home, "LC_ALL=C.UTF-8", "MANPAGER=cat"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%q: %v\n%s", args, err, stderr.Bytes())
	}
	return string(out)
}

// make install as a whole: everything that docs/install.md names is there and works
// away from the repository, it can be done again while the programs run, what an older
// version had and this one does not goes, and uninstall leaves nothing.
func TestMakeInstall(t *testing.T) {
	bin := everything(t)
	if own, err := filepath.Abs(filepath.Join(root, "bin")); err != nil || own != bin {
		t.Skipf("make installs what is in bin, and COLLET_BIN_DIR is %s", bin)
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make here")
	}
	p := place{root: filepath.Join(t.TempDir(), "dest"), prefix: "/opt/a collet", pages: filepath.Join(t.TempDir(), "share")}
	p.makeTarget(t, "install")
	at := func(file string) string { return filepath.Join(p.root, p.prefix, file) }

	built, err := filepath.Glob(filepath.Join(bin, "collet*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range built {
		info, err := os.Stat(at("bin/" + filepath.Base(b)))
		if example := filepath.Base(b) == "collet-plugin-hello"; (err != nil) != example {
			t.Errorf("%s: %v", b, err)
		} else if err == nil && info.Mode() != 0o755 {
			t.Errorf("%s has mode %s", b, info.Mode())
		}
	}
	for _, f := range []string{
		"share/man/man1/collet.1", "share/man/man1/collet-plugins-prune.1", "share/bash-completion/completions/collet",
		"share/zsh/site-functions/_collet", "share/fish/vendor_completions.d/collet.fish", "share/systemd/user/collet.service",
	} {
		data, err := os.ReadFile(at(f))
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(data, []byte(p.root)) {
			t.Errorf("%s names DESTDIR", f)
		}
	}

	// What is installed works.
	config := filepath.Join(t.TempDir(), "mcp.toml")
	if err := os.WriteFile(config, []byte("[servers.words]\ncommand = \"true\"\n[servers.gh]\nplugin = \"github\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := p.bare(t, at("bin/collet"), "--config", config, "plugins", "list")
	for _, b := range built {
		name, plugin := strings.CutPrefix(filepath.Base(b), "collet-plugin-")
		if plugin && name != "hello" && !strings.Contains(list, at("bin/collet-plugin-"+name)) {
			t.Errorf("the plugin %s is not found:\n%s", name, list)
		}
	}
	if n := strings.Count(list, " shipped "); n != 2 {
		t.Errorf("%d plugins are shipped, want those of both servers:\n%s", n, list)
	}
	if _, err := exec.LookPath("man"); err != nil {
		t.Log("no man here: pages are not looked for")
	} else if page := p.bare(t, "man", "-M", at("share/man"), "collet-tools-call"); !strings.Contains(page, "SERVER/TOOL") {
		t.Errorf("man collet-tools-call: %q", page)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		// As bash-completion would call it, for what stands on the line.
		names := p.bare(t, bash, "-c", `PATH="$1:$PATH"; . "$2"; COMP_WORDS=(collet plu); COMP_CWORD=1; COMP_LINE="collet plu"; COMP_POINT=10
			_get_comp_words_by_ref() { cur=plu prev=collet words=(collet plu) cword=1; }
			__start_collet; printf '%s\n' "${COMPREPLY[@]}"`, "bash", at("bin"), at("share/bash-completion/completions/collet"))
		if !strings.HasPrefix(names, "plugins") {
			t.Errorf("completion of plu in bash: %q", names)
		}
	}

	// Over one that runs, and of which another version had more.
	older := at("share/man/man1/collet-older.1")
	if err := os.WriteFile(older, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	installed, err := os.OpenFile(at("share/collet/installed"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := installed.WriteString("share/man/man1/collet-older.1\n"); err != nil {
		t.Fatal(err)
	}
	installed.Close()
	ask := p.serving(t, at("bin/collet"), config)
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	before, err := os.Stat(at("bin/collet"))
	if err != nil {
		t.Fatal(err)
	}
	p.makeTarget(t, "install")
	if after, err := os.Stat(at("bin/collet")); err != nil || os.SameFile(before, after) {
		t.Errorf("the program that runs was written over: %v", err)
	}
	ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if _, err := os.Stat(older); err == nil {
		t.Error("a file that only an older version had is there")
	}

	// What somebody else has put there stays, with its directories.
	if err := os.WriteFile(at("share/zsh/theirs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.makeTarget(t, "uninstall")
	var left []string
	err = filepath.WalkDir(at(""), func(path string, _ fs.DirEntry, err error) error {
		left = append(left, strings.TrimPrefix(path, at("")))
		return err
	})
	if want := []string{"", "/share", "/share/zsh", "/share/zsh/theirs"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left after uninstall: %q, %v", left, err)
	}
}

// serving starts collet serve, and returns what sends it a message and waits for an
// answer. It ends with the test.
func (p place) serving(t *testing.T, collet, config string) func(message string) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), collet, "--config", config, "serve", "--stdio")
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + home}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("collet serve: %v", err)
		}
	})
	return func(message string) {
		t.Helper()
		if _, err := in.Write([]byte(message + "\n")); err != nil {
			t.Fatal(err)
		}
		for answers.Scan() {
			if bytes.Contains(answers.Bytes(), []byte(`"id":`)) && !bytes.Contains(answers.Bytes(), []byte(`"method"`)) {
				if !bytes.Contains(answers.Bytes(), []byte(`"result"`)) {
					t.Errorf("%s: %s", message, answers.Bytes())
				}
				return
			}
		}
		t.Fatalf("%s: no answer", message)
	}
}
