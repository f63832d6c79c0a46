package server

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/logfile"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// genericPlugin serves the entries that name no plugin: any MCP server.
const genericPlugin = "mcp"

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
	r, tools, fail := s.launch()
	s.mu.Lock()
	s.start = nil
	st.fail = fail
	closed := s.status.State == Stopped
	var changed func()
	switch {
	case fail != nil:
		changed = s.setLocked(Status{State: Failed, Failure: fail})
	case closed:
		st.fail = notSent(failure.Canceled, "the host is closing")
	default:
		s.run, s.tools, s.listed = r, tools, true
		s.limits = limits(s.set, r.desc.DefaultTimeout)
		changed = s.setLocked(r.statusLocked())
	}
	s.mu.Unlock()
	if closed && r != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopWait)
		_ = r.stop(ctx)
		cancel()
	}
	if changed != nil {
		changed()
	}
	close(st.done)
	if st.fail != nil {
		s.env.Log.Warn("server did not start", "server", s.set.Name, "error", st.fail)
		return
	}
	if s.env.Listed != nil {
		s.env.Listed(s.set.Name)
	}
	// From here on the run is watched until its process ends.
	s.wg.Go(func() { s.attend(r) })
}

// launch takes a server from its entry in mcp.toml to its first list of tools.
// On failure nothing is left running.
func (s *Server) launch() (*run, []*catalog.Tool, *Failure) {
	ctx := s.ctx
	path, err := s.env.Plugins.Find(s.Plugin(), s.set.Dir)
	if err != nil {
		return nil, nil, misconfigured(err)
	}
	desc, err := s.env.Describer.Describe(ctx, path, launch.ShortEnv(s.env.Environ))
	if err != nil {
		return nil, nil, AsFailure(err)
	}
	limit := s.startTimeout(desc)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Resolving may run a user's !command, so it is part of the start's time.
	settings, err := s.resolve(ctx, desc)
	if err != nil {
		return nil, nil, misconfigured(err)
	}
	log, err := logfile.Open(s.LogFile())
	if err != nil {
		return nil, nil, notSent(failure.Unknown, "open the log file: %w", err)
	}
	proc, err := launch.Start(ctx, launch.Spec{
		Path: path, Name: s.set.Name, Env: settings.env, Dir: s.set.Dir, StartTimeout: limit,
		OnStderr: func(line []byte) { log.Line(logLine(time.Now(), line)) },
	})
	if err != nil {
		log.Close()
		return nil, nil, s.startFailure(ctx, limit, AsFailure(err))
	}
	r := newRun(s, proc, desc, log)
	tools, fail := r.open(ctx, settings.config)
	if fail != nil {
		fail = s.startFailure(ctx, limit, fail)
		stop, cancel := context.WithTimeout(context.Background(), stopWait)
		defer cancel()
		_ = r.stop(stop)
		r.end()
		return nil, nil, fail
	}
	return r, tools, nil
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
// was up, it is the start's time that ran out.
func (s *Server) startFailure(ctx context.Context, limit time.Duration, f *Failure) *Failure {
	f.Delivery = failure.NotSent
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		f.Class = failure.Timeout
		f.Message = fmt.Sprintf("not ready within its start_timeout of %s; a package runner may still be downloading, "+
			"so try again or raise start_timeout (%s:%d)", limit, s.set.File, s.set.Line)
	case s.ctx.Err() != nil:
		f.Class, f.Message = failure.Canceled, "canceled while starting"
	}
	return f
}

// open hands the settings over, waits until the adapter says its upstream is
// there, and lists the tools.
func (r *run) open(ctx context.Context, config []byte) ([]*catalog.Tool, *Failure) {
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

// maxPages bounds a list: an adapter that never stops paging is broken.
const maxPages = 10_000

// list asks for every page of the tools.
func (r *run) list(ctx context.Context) ([]*catalog.Tool, *Failure) {
	var tools []*catalog.Tool
	seen := map[string]bool{}
	token := ""
	for range maxPages {
		resp, err := r.client.ListTools(ctx, &adapterpb.ListToolsRequest{PageToken: token})
		if err != nil {
			return nil, r.fail(ctx, err, false)
		}
		for _, t := range resp.GetTools() {
			if seen[t.GetName()] {
				r.server.env.Log.Warn("a tool is listed twice; the first one counts", "server", r.server.set.Name, "tool", t.GetName())
				continue
			}
			seen[t.GetName()] = true
			tools = append(tools, catalog.New(r.server.set.Name, catalog.Offer{
				Name: t.GetName(), Definition: t.GetDefinition(),
				ReadOnly: t.ReadOnly, Idempotent: t.Idempotent,
				AsksConsent: t.GetAsksConsent(), OutputSchema: t.GetOutputSchema(),
			}))
		}
		if token = resp.GetNextPageToken(); token == "" {
			return tools, nil
		}
	}
	return nil, notSent(failure.InvalidResult, "the adapter's list of tools has more than %d pages", maxPages)
}
