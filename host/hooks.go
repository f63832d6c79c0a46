package host

import (
	"context"
	"path/filepath"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/hook"
	"github.com/collet-dev/collet/host/internal/pins"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/describe"
)

// hooks are the hooks of the configuration as it is now.
type hooks struct{ *hook.Chain }

func (h *Host) newHooks(describer *plugins.Describer) hooks {
	return hooks{hook.New(hook.Surroundings{
		Find: h.plugins.Find, Admit: h.admitHook, Describe: describer.Describe, Resolver: h.values, Environ: h.opt.Environ, Log: h.opt.Log, Version: h.opt.Version,
		Foreseen: func(set *config.Hook) {
			server.ForeseeSecrets(h.secrets, set.References(h.values), h.values, h.opt.Environ)
		},
		Resolved: func(res *config.Resolved, desc *describe.Description) { server.KeepSecrets(h.secrets, res, desc) },
		Stderr: func(set *config.Hook) (line func([]byte), end func()) {
			return server.KeepLog(h.hookLog(set.Name), h.opt.Log, h.secrets)
		},
		Conceal: h.secrets.Text,
	})}
}

// hookLog is where a hook's stderr goes. No server's log has such a name.
func (h *Host) hookLog(name string) string {
	return filepath.Join(h.opt.StateDir, "logs", "hooks", name+".log")
}

// admitHook is what to execute for a hook's plugin.
func (h *Host) admitHook(ctx context.Context, set *config.Hook, path string) (run string, swapped func() error, err error) {
	x, err := h.pins.Admit(ctx, hookUse(set, path))
	if err != nil {
		return "", nil, err
	}
	return x.Run, x.Swapped, nil
}

// hookFile is the file of a hook's plugin.
func (h *Host) hookFile(ctx context.Context, set *config.Hook) (string, error) {
	only := config.Hook{Name: set.Name, File: set.File, Line: set.Line, Dir: set.Dir, Plugin: set.Plugin}
	res, err := only.Resolve(ctx, h.values)
	if err != nil {
		return "", err
	}
	return h.plugins.Find(res.Plugin, set.Dir)
}

func hookUse(set *config.Hook, path string) pins.Use {
	return pins.Use{Config: filepath.Join(set.Dir, filepath.Base(set.File)), Plugin: set.Plugin, Path: path}
}

// settle takes over a configuration's hooks and has them edit its table of servers,
// which is as it is from then on.
func (k hooks) settle(ctx context.Context, c *config.Config) *config.Config {
	k.Apply(c.Hooks)
	return k.EditServers(ctx, c)
}

// EditTools implements server.ToolsEditor.
func (k hooks) EditTools(ctx context.Context, name string, tools []*catalog.Tool) ([]*catalog.Tool, error) {
	if k.Edition() == "" {
		return tools, nil
	}
	defined := make([]hook.Definition, 0, len(tools))
	byName := make(map[string]*catalog.Tool, len(tools))
	for _, t := range tools {
		defined = append(defined, hook.Definition{Name: t.Name, JSON: t.Definition})
		byName[t.Name] = t
	}
	edited, fail := k.Chain.EditTools(ctx, name, defined)
	if fail != nil {
		return nil, &server.Failure{Failure: *fail}
	}
	tools = make([]*catalog.Tool, 0, len(edited))
	for _, d := range edited {
		offer := byName[d.Name].Offer()
		offer.Definition = d.JSON
		tools = append(tools, catalog.New(name, offer))
	}
	return tools, nil
}

// HookStatus is how a hook is.
type HookStatus struct {
	Name, Plugin string
	OnError      string   // "open" or "closed"
	Points       []string // at which it is asked: servers, tools, before, after; nil when that is not known
	Pid          int      // of its process; 0 when it does not run
	Err          error    // why it does not work
	LogFile      string   // where its stderr goes; there is none before it was started
}

// HookLog is where the stderr of an enabled hook goes.
type HookLog struct {
	Name string
	File string // there is none before the hook was started
}

// HookLogs are the logs of the enabled hooks, in file order. None is started for that.
func (h *Host) HookLogs() []HookLog {
	var all []HookLog
	for _, name := range h.hooks.Names() {
		all = append(all, HookLog{name, h.hookLog(name)})
	}
	return all
}

// Hooks says how the enabled hooks are, in file order. One that does not run is
// started for that.
func (h *Host) Hooks(ctx context.Context) []HookStatus {
	var all []HookStatus
	for _, s := range h.hooks.Check(ctx) {
		all = append(all, HookStatus{Name: s.Name, Plugin: s.Plugin, OnError: s.OnError, Points: s.Points, Pid: s.Pid, Err: s.Err, LogFile: h.hookLog(s.Name)})
	}
	return all
}
