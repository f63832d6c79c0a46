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
