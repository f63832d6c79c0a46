package host

import (
	"slices"
	"strings"
)

// Variables that differ between two terminals, or between a terminal and an editor,
// of one person who has configured them alike. Servers of a host that inherit the whole
// environment inherit these too, but nobody starts a server for them: whoever has
// others may use the same host. What may decide what a server does or whose account it
// uses must not be here: PATH, proxies, languages, SSH_AUTH_SOCK, DISPLAY, tokens.
var (
	passing = []string{
		// shells
		"_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "PS1", "PS2", "PROMPT", "PROMPT_COMMAND", "RPROMPT",
		"HISTFILE", "HISTSIZE", "HISTFILESIZE", "HISTCONTROL", "HISTTIMEFORMAT", "SAVEHIST", "INSIDE_EMACS", "NVIM", "VIMRUNTIME", "MYVIMRC",
		"CONDA_PROMPT_MODIFIER", "CONDA_SHLVL", "VIRTUAL_ENV_PROMPT", "BASH_EXECUTION_STRING", "SHELL_SESSION_ID",
		// terminals
		"TERM", "COLORTERM", "COLORFGBG", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_FEATURES", "TERMINFO", "TERMINFO_DIRS", "TERMCAP",
		"TERMINAL_EMULATOR", "LC_TERMINAL", "LC_TERMINAL_VERSION", "VTE_VERSION", "WINDOWID", "WINDOW", "STY", "GPG_TTY", "WSL_INTEROP",
		"SSH_TTY", "SSH_CLIENT", "SSH_CONNECTION", "SESSIONNAME",
		// how programs show things
		"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LS_COLORS", "LSCOLORS", "EXA_COLORS", "EZA_COLORS", "GREP_COLORS",
		"EDITOR", "VISUAL", "GIT_EDITOR", "PAGER", "GIT_PAGER", "MANPAGER", "LESS", "LESSOPEN", "LESSCLOSE", "BAT_THEME",
		// what started the terminal, the editor or the service
		"XDG_SESSION_ID", "XDG_SESSION_CLASS", "XDG_VTNR", "XDG_SEAT", "XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID",
		"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "NOTIFY_SOCKET",
		"CHROME_DESKTOP", "XPC_SERVICE_NAME", "XPC_FLAGS", "SECURITYSESSIONID", "__CF_USER_TEXT_ENCODING", "__CFBundleIdentifier",
		"MAIL", "MOTD_SHOWN", "GIT_ASKPASS", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CURSOR_TRACE_ID",
		// make, of whose recipes a command may be one
		"MAKE", "MAKEFLAGS", "MAKELEVEL", "MAKEFILES", "MAKE_TERMOUT", "MAKE_TERMERR", "MFLAGS",
		// what is told to this program itself; what a configuration reads has been resolved
		"COLLET_CONFIG", "COLLET_DAEMON",
	}
	passingPrefixes = []string{
		"TMUX", "ZELLIJ", "KITTY_", "WEZTERM_", "ITERM_", "ALACRITTY_", "GHOSTTY_", "KONSOLE_", "GNOME_TERMINAL_", "TILIX_", "WARP_", "WT_",
		"VSCODE_", "GIO_LAUNCHED_DESKTOP_FILE", "DIRENV_", "STARSHIP_", "P9K_", "FZF_", "COMP_", "npm_lifecycle_", "npm_package_",
	}
	passingSuffixes = []string{"_PANE", "_PANE_ID", "_WINDOW_ID", "_TAB_ID", "_SURFACE_ID", "_SESSION_ID"}
)

// passes reports whether a variable is one of those, or one that a shell does not
// pass on.
func passes(variable string) bool {
	has := func(matches func(s, affix string) bool) func(string) bool {
		return func(affix string) bool { return matches(variable, affix) }
	}
	return !plain(variable) || slices.Contains(passing, variable) ||
		slices.ContainsFunc(passingPrefixes, has(strings.HasPrefix)) || slices.ContainsFunc(passingSuffixes, has(strings.HasSuffix))
}

// plain reports whether a shell passes a variable of that name on (POSIX, 8.1); most
// drop others.
func plain(variable string) bool {
	for i, c := range []byte(variable) {
		if c != '_' && (c|0x20 < 'a' || 'z' < c|0x20) && (i == 0 || c < '0' || '9' < c) {
			return false
		}
	}
	return variable != ""
}
