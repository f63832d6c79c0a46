package clientfile

import "path/filepath"

// appDir is where desktop programs keep their files.
func appDir(home string, _ func(variable, unset string) string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(home, "Library", "Application Support")
}

// zedDir is Zed's directory: ~/.config/zed (Zed docs, "Configuring Zed").
func zedDir(dotConfig, _ string) string {
	if dotConfig == "" {
		return ""
	}
	return filepath.Join(dotConfig, "zed")
}

// packagedDir is for Windows alone.
func packagedDir(string, func(variable, unset string) string) string { return "" }
