package cli

import (
	"errors"
	"os"
	"os/user"
	"runtime"
	"slices"

	"github.com/adrg/xdg"
)

// errHomeless is why no host is opened for a user without a home directory.
var errHomeless = errors.New("no home directory: HOME is not set, and the user database has none; set HOME, or all of XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME and XDG_DATA_HOME")

// findHome returns the home directory to use where HOME is not set, as it is not
// under some service managers and in containers: the one of the user database.
// Without it the XDG directories would be made in the root of the file system.
// It returns "" when there is nothing to do.
func findHome(getenv func(string) string, current func() (*user.User, error)) (string, error) {
	if runtime.GOOS == "windows" || getenv("HOME") != "" {
		return "", nil
	}
	if u, err := current(); err == nil && u.HomeDir != "" && u.HomeDir != "/" {
		return u.HomeDir, nil
	}
	all := []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}
	if slices.ContainsFunc(all, func(k string) bool { return getenv(k) == "" }) {
		return "", errHomeless
	}
	return "", nil
}

// ensureHome puts the home directory into the environment, for this process and
// the servers it starts.
func ensureHome() error {
	home, err := findHome(os.Getenv, user.Current)
	if err != nil || home == "" {
		return err
	}
	if err := os.Setenv("HOME", home); err != nil {
		return err
	}
	xdg.Reload()
	return nil
}
