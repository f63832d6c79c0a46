package host

import "slices"

// Variables that differ between two terminals, or between a terminal and an editor,
// of one person who has configured them alike. Servers of a host that inherit the whole
// environment inherit these too, but nobody starts a server for them: whoever has
// others may use the same host. What may decide what a server does or whose account it
// uses must not be here: PATH, proxies, languages, SSH_AUTH_SOCK, DISPLAY, tokens. The
// names are whole ones, because a pattern would take in somebody's API key.
var passing = []string{
	// shells
	"_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES", "PS1", "PS2", "PROMPT", "PROMPT_COMMAND", "RPROMPT",
	"HISTFILE", "HISTSIZE", "HISTFILESIZE", "HISTCONTROL", "HISTTIMEFORMAT", "SAVEHIST", "INSIDE_EMACS", "NVIM", "VIM", "VIMRUNTIME", "MYVIMRC",
	"CONDA_PROMPT_MODIFIER", "CONDA_SHLVL", "VIRTUAL_ENV_PROMPT", "BASH_EXECUTION_STRING", "SHELL_SESSION_ID",
	"DIRENV_DIR", "DIRENV_DIFF", "DIRENV_FILE", "DIRENV_WATCHES", "STARSHIP_SHELL", "STARSHIP_SESSION_KEY", "P9K_SSH", "P9K_TTY", "_P9K_TTY", "_P9K_SSH_TTY",
	// terminals
	"TERM", "COLORTERM", "COLORFGBG", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_FEATURES", "TERMINFO", "TERMINFO_DIRS", "TERMCAP",
	"TMUX", "TMUX_PANE", "ZELLIJ", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME", "KITTY_WINDOW_ID", "KITTY_PID", "KITTY_LISTEN_ON",
	"KITTY_PUBLIC_KEY", "KITTY_INSTALLATION_DIR", "WEZTERM_PANE", "WEZTERM_UNIX_SOCKET", "WEZTERM_EXECUTABLE", "WEZTERM_EXECUTABLE_DIR",
	"WEZTERM_CONFIG_FILE", "WEZTERM_CONFIG_DIR", "ITERM_SESSION_ID", "ITERM_PROFILE", "TERM_SESSION_ID", "ALACRITTY_WINDOW_ID", "ALACRITTY_SOCKET",
	"ALACRITTY_LOG", "GHOSTTY_BIN_DIR", "GHOSTTY_RESOURCES_DIR", "GHOSTTY_SHELL_FEATURES", "GHOSTTY_SURFACE_ID", "KONSOLE_VERSION",
	"KONSOLE_DBUS_SERVICE", "KONSOLE_DBUS_SESSION", "KONSOLE_DBUS_WINDOW", "KONSOLE_DBUS_ACTIVATION_COOKIE", "GNOME_TERMINAL_SCREEN",
	"GNOME_TERMINAL_SERVICE", "TILIX_ID", "WT_SESSION", "WT_PROFILE_ID", "WARP_IS_LOCAL_SHELL_SESSION", "WARP_HONOR_PS1", "JEDITERM_SOURCE",
	"TERMINAL_EMULATOR", "LC_TERMINAL", "LC_TERMINAL_VERSION", "VTE_VERSION", "WINDOWID", "WINDOW", "STY", "GPG_TTY", "WSL_INTEROP",
	"SSH_TTY", "SSH_CLIENT", "SSH_CONNECTION", "SESSIONNAME",
	// how programs show things
	"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LS_COLORS", "LSCOLORS", "EXA_COLORS", "EZA_COLORS", "GREP_COLORS",
	"EDITOR", "VISUAL", "GIT_EDITOR", "PAGER", "GIT_PAGER", "MANPAGER", "LESS", "LESSOPEN", "LESSCLOSE", "BAT_THEME",
	// what started the terminal, the editor or the service
	"XDG_SESSION_ID", "XDG_SESSION_CLASS", "XDG_VTNR", "XDG_SEAT", "XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID",
	"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "NOTIFY_SOCKET",
	"VSCODE_IPC_HOOK", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "VSCODE_GIT_ASKPASS_MAIN", "VSCODE_GIT_ASKPASS_NODE",
	"VSCODE_GIT_ASKPASS_EXTRA_ARGS", "VSCODE_INJECTION", "VSCODE_NONCE", "VSCODE_PID", "VSCODE_CWD", "VSCODE_NLS_CONFIG", "VSCODE_CODE_CACHE_PATH",
	"VSCODE_CRASH_REPORTER_PROCESS_TYPE", "VSCODE_HANDLES_UNCAUGHT_ERRORS", "VSCODE_ESM_ENTRYPOINT", "VSCODE_L10N_BUNDLE_LOCATION",
	"VSCODE_PROCESS_TITLE", "VSCODE_PYTHON_AUTOACTIVATE_GUARD", "VSCODE_ENV_REPLACE", "VSCODE_ENV_PREPEND", "VSCODE_ENV_APPEND",
	"GIO_LAUNCHED_DESKTOP_FILE", "GIO_LAUNCHED_DESKTOP_FILE_PID", "CHROME_DESKTOP", "XPC_SERVICE_NAME", "XPC_FLAGS", "SECURITYSESSIONID", "__CF_USER_TEXT_ENCODING", "__CFBundleIdentifier",
	"MAIL", "MOTD_SHOWN", "GIT_ASKPASS", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CURSOR_TRACE_ID",
	// make, of whose recipes a command may be one
	"MAKE", "MAKEFLAGS", "MAKELEVEL", "MAKEFILES", "MAKE_TERMOUT", "MAKE_TERMERR", "MAKEOVERRIDES", "GNUMAKEFLAGS", "MFLAGS",
	"npm_lifecycle_event", "npm_lifecycle_script", "npm_package_json", "npm_package_name", "npm_package_version",
	// what is told to this program itself; what a configuration reads has been resolved
	"COLLET_CONFIG", "COLLET_DAEMON",
}

// passes reports whether a variable is one of those, or one that a shell does not
// pass on.
func passes(variable string) bool {
	return !plain(variable) || slices.Contains(passing, variable)
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
