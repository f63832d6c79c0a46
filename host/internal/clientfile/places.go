package clientfile

import "path/filepath"

// Place is where a client keeps a file.
type Place struct {
	Client  string // its name
	Path    string
	Project bool // of the project in the working directory, not the user's own
	// Preferred is a place that the client reads instead of its others, on systems
	// where its directory is there.
	Preferred bool
}

// Places are the files that the clients have on this system, whether they are
// there or not: the user's own, by client, then those of the project in the
// working directory. getenv tells variables that move them.
func Places(around Surroundings, getenv func(string) string) (places []Place) {
	user := func(client string, path ...string) {
		if path[0] != "" {
			places = append(places, Place{Client: client, Path: filepath.Join(path...)})
		}
	}
	or := func(variable, unset string) string {
		if v := getenv(variable); v != "" && filepath.IsAbs(v) {
			return v
		}
		return unset
	}
	home := around.Home
	below := func(dir string) string {
		if home == "" {
			return ""
		}
		return filepath.Join(home, dir)
	}
	apps := appDir(home, or)
	dotConfig := or("XDG_CONFIG_HOME", below(".config"))

	user("claude-desktop", apps, "Claude", "claude_desktop_config.json")
	if dir := packagedDir(home, or); dir != "" {
		places = append(places, Place{Client: "claude-desktop", Path: filepath.Join(dir, "Claude", "claude_desktop_config.json"), Preferred: true})
	}
	user("claude-code", or("CLAUDE_CONFIG_DIR", home), ".claude.json")
	for _, edition := range []string{"Code", "Code - Insiders", "VSCodium"} {
		user("vscode", apps, edition, "User", "mcp.json")
		user("vscode", apps, edition, "User", "settings.json")
	}
	user("cursor", home, ".cursor", "mcp.json")
	user("windsurf", home, ".codeium", "windsurf", "mcp_config.json")
	user("windsurf", home, ".codeium", "mcp_config.json") // of its plugins for other editors
	user("codex", or("CODEX_HOME", below(".codex")), "config.toml")
	user("gemini", or("GEMINI_CLI_HOME", home), ".gemini", "settings.json")
	user("opencode", dotConfig, "opencode", "opencode.json")
	user("opencode", dotConfig, "opencode", "opencode.jsonc")
	user("zed", zedDir(dotConfig, apps), "settings.json")

	if around.WorkDir == "" || around.WorkDir == home {
		return places
	}
	for _, p := range []Place{
		{Client: "claude-code", Path: ".mcp.json"},
		{Client: "vscode", Path: ".vscode/mcp.json"},
		{Client: "cursor", Path: ".cursor/mcp.json"},
		{Client: "codex", Path: ".codex/config.toml"},
		{Client: "gemini", Path: ".gemini/settings.json"},
		{Client: "opencode", Path: "opencode.json"},
		{Client: "opencode", Path: "opencode.jsonc"},
		{Client: "zed", Path: ".zed/settings.json"},
	} {
		p.Path, p.Project = filepath.Join(around.WorkDir, filepath.FromSlash(p.Path)), true
		places = append(places, p)
	}
	return places
}
