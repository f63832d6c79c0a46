package host

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/mcp"
)

// lookUp finds the program of a command server as its client would. environ is the
// host's environment, in which version managers say where they are.
func lookUp(c *server.Command, environ []string) *CommandDiagnosis {
	d := &CommandDiagnosis{Name: c.Path, SearchPath: filepath.SplitList(variable(c.Env, "PATH"))}
	found := func(name string) string {
		path, err := mcp.LookPath(mcp.Command{Path: name, Env: c.Env})
		if err != nil || !executable(path) {
			return ""
		}
		return path
	}
	if d.Path = found(c.Path); d.Path == "" {
		d.Missing = c.Path
	} else if d.Interpreter = interpreter(d.Path); d.Interpreter != "" && found(d.Interpreter) == "" {
		d.Missing = d.Interpreter
	}
	if d.Missing != "" && filepath.Base(d.Missing) == d.Missing {
		d.Elsewhere, d.FoundIn = elsewhere(d.Missing, d.SearchPath, environ)
	}
	return d
}

// problem says what of the command is missing; "" when all is there.
func (d *CommandDiagnosis) problem() string {
	switch {
	case d.Missing == "":
		return ""
	case d.Path != "" && filepath.IsAbs(d.Missing):
		return fmt.Sprintf("%s is a script for %s, which is not there", d.Path, d.Missing)
	case d.Path != "":
		return fmt.Sprintf("%s is a script for %s, which is not on the server's PATH", d.Path, d.Missing)
	case filepath.Base(d.Name) != d.Name:
		return d.Name + " " + notExecutable(d.Name)
	}
	return d.Name + " is not on the server's PATH"
}

// advice says what to do about the problem of a server whose entry is at place.
func (d *CommandDiagnosis) advice(place string) string {
	switch {
	case d.FoundIn != "":
		return fmt.Sprintf("it is in %[1]s: in %[2]s, set env = { PATH = '%[1]s%[3]c${PATH}' }", d.FoundIn, place, filepath.ListSeparator)
	case d.Path == "" && filepath.Base(d.Name) != d.Name:
		return "correct command in " + place
	}
	return "install " + filepath.Base(d.Missing) + ", or give its whole path in " + place
}

func executable(path string) bool { return notExecutable(path) == "" }

// notExecutable says why a file cannot be executed; "" when it can.
func notExecutable(path string) string {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return "is not there"
	case err != nil:
		return "cannot be looked at: " + err.Error()
	case info.IsDir():
		return "is a directory"
	case !info.Mode().IsRegular():
		return "is no regular file"
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return "is not executable"
	}
	return ""
}

// maxFirstLine bounds what is read of a script; kernels read no more.
const maxFirstLine = 256

// interpreter is the program that a script is for, as its first line says: a path,
// or the name that env looks up on PATH. It is empty for what is no script.
func interpreter(path string) string {
	if runtime.GOOS == "windows" {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadString('\n')
	rest, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return words[0]
}

// elsewhere are the directories beside searched that programs are often in, and
// the first of them that has the program.
func elsewhere(program string, searched, environ []string) (dirs []string, has string) {
	for _, pattern := range usual(func(k string) string { return variable(environ, k) }) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue // a variable held half a pattern
		}
		slices.Reverse(found) // of several versions the newest first, more or less
		for _, dir := range found {
			if slices.Contains(searched, dir) || slices.Contains(dirs, dir) || noDirectory(dir) != "" {
				continue
			}
			dirs = append(dirs, dir)
			if has == "" && inDirectory(dir, program) {
				has = dir
			}
		}
	}
	return dirs, has
}

func inDirectory(dir, program string) bool {
	if runtime.GOOS != "windows" {
		return executable(filepath.Join(dir, program))
	}
	return slices.ContainsFunc([]string{"", ".exe", ".cmd", ".bat"}, func(ext string) bool { return executable(filepath.Join(dir, program+ext)) })
}

// usual are patterns of directories that shells add to PATH and programs started
// otherwise (from a desktop, by an editor) do not have: those of version managers
// and of package managers. What lies below an unset variable is left out.
func usual(getenv func(string) string) []string {
	var out []string
	below := func(base string, dirs ...string) {
		if !filepath.IsAbs(base) {
			return
		}
		for _, dir := range dirs {
			out = append(out, filepath.Join(base, filepath.FromSlash(dir)))
		}
	}
	below(getenv("NVM_DIR"), "versions/node/*/bin")
	below(getenv("VOLTA_HOME"), "bin")
	below(getenv("ASDF_DATA_DIR"), "shims")
	below(getenv("PNPM_HOME"), ".")
	below(getenv("BUN_INSTALL"), "bin")
	if runtime.GOOS == "windows" {
		below(getenv("NVM_SYMLINK"), ".")
		below(getenv("APPDATA"), "npm")
		below(getenv("LOCALAPPDATA"), "Volta/bin", "Programs/Python/*/Scripts", "Microsoft/WindowsApps", "pnpm")
		below(getenv("PROGRAMFILES"), "nodejs")
		below(getenv("USERPROFILE"), "scoop/shims", ".local/bin", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin")
		return out
	}
	below(getenv("HOME"),
		".nvm/versions/node/*/bin", ".volta/bin", ".asdf/shims", ".local/share/mise/shims", ".local/share/fnm/aliases/default/bin",
		".nodenv/shims", ".pyenv/shims", ".rbenv/shims", ".npm-global/bin", ".local/share/pnpm", "Library/pnpm",
		".local/bin", ".bun/bin", ".deno/bin", ".cargo/bin", "go/bin", ".nix-profile/bin")
	return append(out, "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/local/bin", "/opt/local/bin", "/snap/bin",
		"/usr/bin", "/bin")
}

// variable is the last value of a variable in an environment, the one that counts.
func variable(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		k, v, _ := strings.Cut(kv, "=")
		if k == name || runtime.GOOS == "windows" && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}
