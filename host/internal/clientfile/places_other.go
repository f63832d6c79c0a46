//go:build !darwin && !windows

package clientfile

import "path/filepath"

// appDir is where desktop programs keep their files.
func appDir(home string, or func(variable, unset string) string) string {
	if home == "" {
		return or("XDG_CONFIG_HOME", "")
	}
	return or("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
}

// zedDir is Zed's directory: $XDG_CONFIG_HOME/zed (Zed docs, "Configuring Zed").
func zedDir(dotConfig, _ string) string {
	if dotConfig == "" {
		return ""
	}
	return filepath.Join(dotConfig, "zed")
}

// packagedDir is for Windows alone.
func packagedDir(string, func(variable, unset string) string) string { return "" }
