package mcp

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
)

// LookPath returns the file that Start would execute for cmd, by the rule of
// Start. The error is a *failure.Failure, ConnectionRefused.
func LookPath(cmd Command) (string, error) {
	path, f := lookPath(cmd)
	if f != nil {
		return "", f
	}
	return path, nil
}

// lookPath finds the executable of cmd: with a slash where it says, otherwise on
// the child's own PATH, in its absolute entries alone, because what a relative
// one holds depends on where the host happened to be started.
func lookPath(cmd Command) (string, *failure.Failure) {
	if cmd.Path == "" {
		return "", failure.New(failure.ConnectionRefused, failure.NotSent, "cannot start the server: the command is empty")
	}
	if hasSlash(cmd.Path) {
		return cmd.Path, nil // starting it says what is wrong with it
	}
	path := lookEnv(cmd.Env, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, ext := range executableSuffixes(cmd.Env) {
			candidate := filepath.Join(dir, cmd.Path+ext)
			if info, err := os.Stat(candidate); err == nil && isExecutable(info.Mode()) {
				return candidate, nil
			}
		}
	}
	f := failure.New(failure.ConnectionRefused, failure.NotSent,
		"cannot start %q: no such command on the server's PATH (%s); give its absolute path, or set PATH in the server's env (version managers such as nvm, volta and brew add their own directories to it)",
		cmd.Path, path)
	f.Err = fs.ErrNotExist
	return "", f
}

// lookEnv returns the last value of a variable, the one that counts.
func lookEnv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		k, v, _ := strings.Cut(env[i], "=")
		if k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

func isExecutable(mode fs.FileMode) bool {
	return mode.IsRegular() && (runtime.GOOS == "windows" || mode&0o111 != 0)
}

// executableSuffixes is what may follow a command's name in its file name.
func executableSuffixes(env []string) []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	suffixes := lookEnv(env, "PATHEXT")
	if suffixes == "" {
		suffixes = ".com;.exe;.bat;.cmd"
	}
	return append([]string{""}, strings.Split(suffixes, ";")...)
}
