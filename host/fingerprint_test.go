package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/collet-dev/collet/host"
)

// What makes a host another one makes its fingerprint another one, and nothing else
// does.
func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	of := func(opt host.Options) string {
		t.Helper()
		opt.ConfigFiles, opt.CacheDir = []string{file}, dir
		if opt.StateDir == "" {
			opt.StateDir = dir
		}
		sum, err := opt.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	with := func(env ...string) host.Options { return host.Options{Environ: append([]string{"PATH=/bin"}, env...)} }
	const remote = "[servers.r]\nurl = \"http://h/mcp\"\nheaders = { X = \"${TOKEN:-none}\" }\n"
	write(remote)
	base := of(with())
	for name, opt := range map[string]host.Options{
		"a terminal's variables": with("TERM=x", "SHLVL=3", "SSH_TTY=/dev/pts/1", "COLLET_DAEMON=auto"), "one that nothing reads": with("FOO=1"),
		"an empty one with a default": with("TOKEN="), "order": {Environ: []string{"SHLVL=1", "PATH=/bin"}},
	} {
		if of(opt) != base {
			t.Errorf("%s: another host", name)
		}
	}
	state := with()
	state.StateDir = t.TempDir()
	for name, opt := range map[string]host.Options{"a value": with("TOKEN=a"), "PATH": {Environ: []string{"PATH=/x"}}, "a proxy": with("HTTPS_PROXY=http://p"), "where it keeps its files": state} {
		if of(opt) == base {
			t.Errorf("%s: the same host", name)
		}
	}
	write(remote + "# another file\n")
	if of(with()) == base {
		t.Error("another file: the same host")
	}
	for name, text := range map[string]string{
		"a child inherits everything": "[servers.c]\ncommand = \"x\"\n",
		"a plugin":                    "[servers.c]\nplugin = \"x\"\n",
		"a command":                   "[servers.c]\nurl = \"http://h/\"\nheaders = { A = \"!exit 3\" }\n",
	} {
		write(text)
		if of(with("FOO=1")) == of(with("FOO=2")) {
			t.Errorf("%s: the same host", name)
		}
		if of(with("TERM=a")) != of(with("TERM=b")) {
			t.Errorf("%s: another terminal, another host", name)
		}
	}
	write("[servers.c]\ncommand = \"x\"\n")
	for _, window := range []string{
		"COLLET_DAEMON", "TMUX_PANE", "WEZTERM_PANE", "KITTY_WINDOW_ID", "ITERM_SESSION_ID", "ALACRITTY_WINDOW_ID", "GNOME_TERMINAL_SCREEN", "KONSOLE_DBUS_WINDOW",
		"ZELLIJ_PANE_ID", "WT_SESSION", "WSL_INTEROP", "VIM", "JEDITERM_SOURCE", "MAKEOVERRIDES", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "INSIDE_EMACS", "NVIM", "MAKELEVEL", "MAKEFLAGS", "DIRENV_DIFF",
		"LS_COLORS", "EDITOR", "PAGER", "FORCE_COLOR", "CLAUDECODE", "CLAUDE_CODE_SSE_PORT", "npm_lifecycle_event",
	} {
		if of(with(window+"=1")) != of(with(window+"=2")) || of(with()) != of(with(window+"=1")) {
			t.Errorf("%s: another window, another host", window)
		}
	}
	for _, account := range []string{"SSH_AUTH_SOCK", "DISPLAY", "GITHUB_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_PROFILE", "AWS_SESSION_TOKEN", "HTTPS_PROXY", "LANG", "NODE_OPTIONS", "npm_config_registry", "VIRTUAL_ENV", "PANE", "A_B",
		"WARP_API_KEY", "OKTA_SESSION_ID", "WT_TOKEN", "TMUX_TOKEN", "VSCODE_PAT", "npm_config__auth"} {
		if of(with(account+"=1")) == of(with(account+"=2")) {
			t.Errorf("%s: another account, the same host", account)
		}
	}
	write("[servers.c]\ncommand = \"x\"\ninherit_env = [\"KEEP\"]\n")
	if of(with("FOO=1")) != of(with("FOO=2")) || of(with("KEEP=1")) == of(with("KEEP=2")) {
		t.Error("what a child inherits by name does not decide")
	}
}
