package clientfile

import "path/filepath"

// appDir is where desktop programs keep their files.
func appDir(home string, or func(variable, unset string) string) string {
	if home == "" {
		return or("APPDATA", "")
	}
	return or("APPDATA", filepath.Join(home, "AppData", "Roaming"))
}

// zedDir is Zed's directory: %APPDATA%\Zed (Zed docs, "Configuring Zed").
func zedDir(_, apps string) string {
	if apps == "" {
		return ""
	}
	return filepath.Join(apps, "Zed")
}

// packagedDir is where Windows keeps what Claude Desktop writes to %APPDATA% when
// it was installed as an MSIX package, as its installer has done since 2026. The
// package's family name ends in a hash of its publisher, which does not change.
func packagedDir(home string, or func(variable, unset string) string) string {
	local := or("LOCALAPPDATA", "")
	if local == "" && home != "" {
		local = filepath.Join(home, "AppData", "Local")
	}
	if local == "" {
		return ""
	}
	return filepath.Join(local, "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming")
}
