package launch

import (
	"runtime"
	"slices"
	"strings"
)

// shortList are the variables without which programs do not find their files,
// their language, their certificates or the network.
var shortList = []string{
	"PATH", "HOME", "USER", "SHELL", "LANG", "TERM", "TMPDIR", "TZ", "NODE_EXTRA_CA_CERTS",
}

// windowsList are those without which Windows programs do not start at all.
var windowsList = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS",
}

// ShortEnv returns the part of environ, a list of "NAME=value" as os.Environ
// returns it, that every adapter gets: PATH HOME USER SHELL LANG LC_* TERM TMPDIR
// TZ XDG_* SSL_CERT_* NODE_EXTRA_CA_CERTS *_PROXY (in either case), and what
// Windows needs there. More names further variables to keep, those an adapter's
// Describe asks for. Credentials in any other variable do not pass.
func ShortEnv(environ []string, more ...string) []string {
	return shortEnv(runtime.GOOS == "windows", environ, more)
}

func shortEnv(windows bool, environ, more []string) []string {
	kept := []string{}
	for _, entry := range environ {
		// Windows has entries such as "=C:=C:\dir"; they name no variable.
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && inShortEnv(windows, name, more) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func inShortEnv(windows bool, name string, more []string) bool {
	same := func(a string) bool { return a == name || windows && strings.EqualFold(a, name) }
	if slices.ContainsFunc(more, same) || slices.ContainsFunc(shortList, same) || windows && slices.ContainsFunc(windowsList, same) {
		return true
	}
	folded := name
	if windows {
		folded = strings.ToUpper(name)
	}
	return strings.HasPrefix(folded, "LC_") || strings.HasPrefix(folded, "XDG_") || strings.HasPrefix(folded, "SSL_CERT_") ||
		strings.HasSuffix(strings.ToUpper(name), "_PROXY")
}
