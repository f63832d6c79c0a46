package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// genericPlugin serves the entries that name no plugin: any MCP server.
const genericPlugin = "mcp"

// reattachEnv names running adapters under a debugger, by server (package
// adapter prints its value under -debug).
const reattachEnv = "COLLET_REATTACH"

// stopWait bounds the stop of a process nobody waits for by name. It exceeds
// launch's own steps, so it only matters when those fail.
const stopWait = 10 * time.Second

// PluginName is the name of the plugin that serves an entry of mcp.toml: the
// generic one's for entries that name none.
func PluginName(set *config.Server) string { return cmp.Or(set.Plugin, genericPlugin) }

// Plugin is the name of the server's plugin.
func (s *Server) Plugin() string { return PluginName(s.set) }

// bringUp carries out one start and publishes how it ended.
func (s *Server) bringUp(st *start) {
	if st.before != nil {
		// Never two processes of one server at once: both may hold the same files.
		if !st.before.awaitExit(lostWait) {
			st.before.kill("it had ended its watch stream")
			st.before.awaitExit(stopWait)
		}
	}
	r, tools, fail := s.launch()
	s.mu.Lock()
	s.start = nil
	st.fail = fail
	closed := s.status.State == Stopped
	var listed bool
	switch {
	case fail != nil:
		s.setLocked(Status{State: Failed, Failure: fail})
	case closed:
		st.fail = notSent(failure.Canceled, "the host is closing")
	default:
		s.run = r
		listed = s.adoptLocked(tools)
		s.limits = limits(s.set, r.desc.DefaultTimeout)
		s.setLocked(r.statusLocked())
	}
	s.mu.Unlock()
	if closed && r != nil {
		r.abandon()
	}
	s.tell()
	if listed && s.env.Listed != nil {
		s.env.Listed(s.set.Name)
	}
	close(st.done)
	if st.fail != nil {
		s.env.Log.Warn("server did not start", "server", s.set.Name, "error", st.fail)
		return
	}
	// From here on the run is watched until its process ends.
	s.wg.Go(func() { s.attend(r) })
}

// launch takes a server from its entry in mcp.toml to its first list of tools.
// On failure nothing is left running.
func (s *Server) launch() (*run, []*catalog.Tool, *Failure) {
	path, err := s.pluginFile()
	if err != nil {
		return nil, nil, AsFailure(err)
	}
	desc, err := s.env.Describer.Describe(s.ctx, path, launch.ShortEnv(s.env.Environ))
	if err != nil {
		f := AsFailure(err)
		if f.Class == failure.InvalidResult {
			f.Class = failure.ConnectionRefused // no tool's result, but a file that is no plugin
		}
		return nil, nil, f
	}
	limit := s.startTimeout(desc)
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	// Resolving may run a user's !command, so it is part of the start's time.
	settings, err := s.resolve(ctx, desc)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil, s.startFailure(ctx, limit, AsFailure(err))
	case err != nil:
		f := misconfigured(err)
		// Whoever prints a failure says which server it concerns.
		f.Message = strings.TrimPrefix(f.Message, s.set.Name+": ")
		return nil, nil, f
	}
	log := openLog(s.LogFile(), s.env.Log)
	reattach := variable(s.env.Environ, reattachEnv)
	proc, err := launch.Start(ctx, launch.Spec{
		Path: path, Name: s.set.Name, Env: settings.env, Dir: s.set.Dir, StartTimeout: limit,
		OnStderr: log.line, Reattach: reattach,
	})
	if err != nil {
		log.close()
		return nil, nil, s.startFailure(ctx, limit, AsFailure(err))
	}
	r := newRun(s, proc, desc, log)
	r.debugged = gjson.Get(reattach, s.set.Name).Exists()
	tools, fail := r.open(ctx, settings.config)
	if fail != nil {
		if fail.StderrTail == nil {
			fail.StderrTail = plainLines(proc.Tail())
		}
		r.abandon()
		return nil, nil, s.startFailure(ctx, limit, fail)
	}
	return r, tools, nil
}

// pluginFile finds the plugin's file. Of the entry only the plugin's path is
// resolved for that: no !command runs for a plugin that is not there.
func (s *Server) pluginFile() (string, error) {
	only := config.Server{Name: s.set.Name, File: s.set.File, Line: s.set.Line, Dir: s.set.Dir, Plugin: s.Plugin()}
	res, err := only.Resolve(s.ctx, s.env.Resolver)
	if err != nil {
		return "", misconfigured(err)
	}
	path, err := s.env.Plugins.Find(res.Plugin, s.set.Dir)
	if err != nil {
		return "", notSent(failure.ConnectionRefused, "%w", err)
	}
	return path, nil
}

// variable is the value of one variable of an environment.
func variable(environ []string, name string) string {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func (s *Server) startTimeout(desc *describe.Description) time.Duration {
	switch {
	case s.set.StartTimeout > 0:
		return s.set.StartTimeout
	case desc.DefaultStartTimeout > 0:
		return desc.DefaultStartTimeout
	default:
		return defaultStartTimeout
	}
}

// startFailure words a failed start. Whatever step was under way when the time
// was up, f, it is the start's time that ran out.
func (s *Server) startFailure(ctx context.Context, limit time.Duration, f *Failure) *Failure {
	f.Delivery = failure.NotSent
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		f.Class = failure.Timeout
		f.Message = fmt.Sprintf("not ready within its start_timeout of %s; a package runner may still be downloading, "+
			"so try again or raise start_timeout (%s:%d): %s", limit, s.set.File, s.set.Line, f.Message)
	case s.ctx.Err() != nil:
		f.Class, f.Message = failure.Canceled, "canceled while starting"
	}
	return f
}

// open hands the settings over, waits until the adapter says its upstream is
// there, and lists the tools.
func (r *run) open(ctx context.Context, config []byte) ([]*catalog.Tool, *Failure) {
	if err := r.proc.Healthy(ctx); err != nil {
		return nil, AsFailure(err)
	}
	_, err := r.client.Configure(ctx, &adapterpb.ConfigureRequest{
		Server: r.server.set.Name, Config: config, HostVersion: r.server.env.Version,
	})
	if err != nil {
		f := r.fail(ctx, err, false)
		// The adapter knows no others: what it calls arguments here is its
		// configuration.
		f.Misconfigured = f.Class == failure.InvalidArguments
		return nil, f
	}
	r.watch()
	if f := r.waitUpstream(ctx); f != nil {
		return nil, f
	}
	return r.list(ctx)
}
