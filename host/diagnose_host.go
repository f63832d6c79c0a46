package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/sdk/launch"
)

// surroundings looks at what all servers share.
func (h *Host) surroundings(found *Discovery) HostDiagnosis {
	d := HostDiagnosis{
		Version: h.opt.Version, ConfigFiles: h.hub.Config().Files,
		StateDir: h.opt.StateDir, CacheDir: h.opt.CacheDir,
	}
	for _, p := range h.hub.Config().Problems {
		if p.Server == "" {
			d.Findings = append(d.Findings, configFinding(p))
		}
	}
	switch {
	case found == nil:
	case found.Ignored() != nil:
		d.Findings = append(d.Findings, ignoredFinding(found))
	case len(found.Sources()) == 0 && len(found.Files) > 0:
		d.Findings = append(d.Findings, Finding{
			Kind: KindConfiguration, Check: "config", Message: "there is no configuration",
			Advice: "write " + found.Files[0].Path + ", or a project's mcp.toml, or name a file with --config or COLLET_CONFIG",
		})
	}
	if len(h.hub.Names()) == 0 && len(d.Findings) == 0 {
		d.Findings = append(d.Findings, Finding{
			Kind: KindNote, Check: "config", Message: "no servers are configured", Advice: "add a [servers.NAME] table to mcp.toml",
		})
	}
	var err error
	if d.SocketDir, err = launch.CheckSocketDir(); err != nil {
		d.Findings = append(d.Findings, Finding{
			Kind: KindUnreachable, Check: "sockets", Message: err.Error(),
			Advice: "set XDG_RUNTIME_DIR to a short path of a directory of yours; no server can start without one",
		})
	}
	for _, dir := range []struct{ check, path, loss, variable string }{
		{"state", d.StateDir, "what servers write to stderr is not kept", "XDG_STATE_HOME"},
		{"cache", d.CacheDir, "plugins that are not beside collet cannot start, and every command is slower than necessary", "XDG_CACHE_HOME"},
	} {
		if err := writable(dir.path); err != nil {
			d.Findings = append(d.Findings, Finding{
				Kind: KindNote, Check: dir.check, Message: fmt.Sprintf("%v: %s", err, dir.loss),
				Advice: "make " + dir.path + " writable, or set " + dir.variable,
			})
		}
	}
	d.PluginDirs, _ = h.hub.Config().Host.ResolvePluginDirs(h.values)
	for _, dir := range d.PluginDirs {
		if why := noDirectory(dir); why != "" {
			d.Findings = append(d.Findings, Finding{
				Kind: KindNote, Check: "plugin-dirs", Message: dir + " " + why, Key: "host.plugin_dirs",
				Advice: "create it, or remove it from host.plugin_dirs",
			})
		}
	}
	return d
}

// writers tells who else may change the plugins of servers, or those that are found
// where plugins are looked for; each reason once.
func (d *HostDiagnosis) writers(f *plugins.Finder, servers []ServerDiagnosis) {
	var paths []string
	for _, dir := range f.Dirs {
		if abs, err := filepath.Abs(dir); dir != "" && err == nil {
			paths = append(paths, filepath.Join(abs, plugins.Prefix)) // whatever would lie there
		}
	}
	for _, path := range f.All() {
		paths = append(paths, path)
	}
	for i := range servers {
		if path := servers[i].Plugin.Path; path != "" {
			paths = append(paths, path)
		}
	}
	told := map[string]bool{}
	for _, path := range paths {
		if why, advice := plugins.Writers(path); why != "" && !told[why] {
			told[why] = true
			d.Findings = append(d.Findings, Finding{Kind: KindNote, Check: "plugin-writers", Message: why, Advice: advice})
		}
	}
}

// hooks takes over how the hooks are. What the configuration has said of one already
// is not said again.
func (d *HostDiagnosis) hooks(all []HookStatus) {
	d.Hooks = all
	for _, s := range all {
		key := "hooks." + s.Name
		if s.Err == nil || slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Key == key }) {
			continue
		}
		f := Finding{Kind: KindUnreachable, Check: "hook", Message: fmt.Sprintf("the hook %s does not work: %v", s.Name, s.Err), Key: key}
		f.Advice = `mend it, or set on_error = "open" to do without it`
		if s.OnError == config.OnErrorOpen {
			f.Advice = "repair it; until then calls pass without it"
		}
		d.Findings = append(d.Findings, f)
	}
}

func configFinding(p Problem) Finding {
	f := Finding{Kind: KindConfiguration, Check: "config", Message: p.Message, File: p.File, Line: p.Line, Column: p.Column, Key: p.Key}
	switch {
	case p.Key == "":
		f.Advice = "correct the file; until then it has no effect"
	case p.Server != "":
		f.Advice = "correct " + p.Key + ", or remove the entry"
	case strings.HasPrefix(p.Key, "hooks."):
		f.Advice = "correct " + p.Key + ", or set enabled = false"
	default:
		f.Advice = "correct " + p.Key + "; until then its default is used"
	}
	return f
}

// ignoredFinding tells of a project's file that does not count.
func ignoredFinding(found *Discovery) Finding {
	file := found.Ignored()
	f := Finding{
		Kind: KindNote, Check: "trust", File: file.Path,
		Message: file.Path + " is not trusted, so it has no effect",
		Advice:  "'collet trust' shows what it would start, and asks",
	}
	if len(found.Sources()) == 0 {
		f.Kind = KindAuth // there is no other configuration
	}
	switch {
	case file.Err != nil:
		f.Message = file.Path + " does not count: " + file.Err.Error()
		f.Advice = "make it readable, or remove it"
	case file.Changed:
		f.Message = file.Path + " has changed since it was trusted, so it has no effect"
	}
	return f
}

// writable makes a directory, if need be, and a file in it, and writes to that.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	// A file system that is full lets files be made, and nothing be written into them.
	_, err = file.Write(make([]byte, 4096))
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// noDirectory says why a path is no directory that can be looked into; "" when it is one.
func noDirectory(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case err != nil:
		return "cannot be looked into: " + err.Error()
	case !info.IsDir():
		return "is no directory"
	}
	return ""
}
