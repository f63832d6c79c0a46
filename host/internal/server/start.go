package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
	"github.com/collet-dev/collet/sdk/recording"
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
func (s *Server) Plugin() string { return PluginName(s.Settings()) }

// bringUp carries out one start and publishes how it ended.
func (s *Server) bringUp(st *start) {
	s.mu.Lock()
	for {
		before, ctx := s.leaving, st.ctx
		s.mu.Unlock()
		if before != nil {
			// Never two processes of one server at once: both may hold the same files.
			<-before.over
		}
		set := s.Settings()
		r, tools, fail := s.launch(ctx, set)
		if s.conceal(fail) != nil {
			fail.Remote = set.URL != ""
		}
		s.mu.Lock()
		if !st.again && s.life.state != Stopped {
			s.settleLocked(st, r, tools, fail)
			return
		}
		st.again = false
		if r != nil {
			s.mu.Unlock()
			r.abandon()
			s.mu.Lock()
		}
		if s.life.state == Stopped {
			s.settleLocked(st, nil, nil, s.gone())
			return
		}
	}
}

// settleLocked publishes how a start ended, lets go of the lock, and stays for
// what the start has made necessary.
func (s *Server) settleLocked(st *start, r *run, tools []*catalog.Tool, fail *Failure) {
	s.start, st.fail = nil, fail
	var listed bool
	if fail != nil {
		if !s.listed && !s.recalled && s.tools != nil {
			s.tools, s.usable, s.approval, listed = nil, nil, nil, true // nothing says that the server has them under these settings
		}
		s.onLocked(startFailed, fail)
	} else {
		s.run, s.used = r, time.Now()
		s.introduced = r.introduction()
		s.own.Store(int64(r.desc.DefaultTimeout))
		listed = s.adoptLocked(r, tools)
		s.onLocked(cameUp, nil)
		s.healthLocked(r)
		// From here on the run is watched until its process ends.
		s.wg.Go(func() { s.attend(r) })
	}
	state := s.life.state
	s.mu.Unlock()
	st.cancel()
	s.tell()
	if listed && s.env.Listed != nil {
		s.env.Listed(s.name)
	}
	close(st.done)
	if fail != nil && state != Stopped {
		s.keepTrouble(s.Settings(), fail)
		s.env.Log.Warn("server did not start", "server", s.name, "error", fail)
		s.startAgain()
	}
}

// startAgain starts a server that is backing off, when its time has come and
// nothing else has started or stopped it.
func (s *Server) startAgain() {
	s.mu.Lock()
	for s.life.state == BackingOff {
		if wait, _ := s.life.hold(time.Now()); wait > 0 {
			if s.sleepLocked(s.ctx, wait) != nil {
				return
			}
			continue
		}
		s.beginLocked()
	}
	s.mu.Unlock()
	s.tell()
}

// launchAdapter takes a server from its entry in mcp.toml to its first list of
// tools. On failure nothing is left running.
func (s *Server) launchAdapter(ctx context.Context, set *config.Server) (_ *run, _ []*catalog.Tool, fail *Failure) {
	logged := false
	defer func() {
		if fail != nil {
			fail.Unlogged = !logged
		}
	}()
	path, err := s.pluginFile(ctx, set)
	if err != nil {
		return nil, nil, AsFailure(err)
	}
	exe, fail := s.admit(ctx, set, path)
	if fail != nil {
		return nil, nil, fail
	}
	desc, err := s.env.Describer.Describe(ctx, exe.Run, launch.ShortEnv(s.env.Environ))
	if err != nil {
		f := AsFailure(err)
		if f.Class == failure.InvalidResult {
			f.Class = failure.ConnectionRefused // no tool's result, but a file that is no plugin
		}
		return nil, nil, f
	}
	// Before it runs: what is at path may be another file when there is something to keep.
	key := s.key(set, exe.Run)
	limit := startTimeout(set, desc)
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	failed := func(f *Failure) (*run, []*catalog.Tool, *Failure) {
		return nil, nil, startFailure(parent, ctx, set, limit, f)
	}
	// Resolving may run a user's !command, so it is part of the start's time.
	settings, err := s.resolve(ctx, set, desc)
	switch {
	case err != nil && (ctx.Err() != nil || tokenless(err)):
		return failed(AsFailure(err))
	case err != nil:
		f := misconfigured(err)
		// Whoever prints a failure says which server it concerns.
		f.Message = strings.TrimPrefix(f.Message, s.name+": ")
		return nil, nil, f
	}
	if s.env.Turn != nil && settings.url != "" {
		done, err := s.env.Turn(ctx, settings.url)
		if err != nil {
			return failed(waitFailure(ctx, "another server is still starting with the same url"))
		}
		defer done()
	}
	log := openLog(s.LogFile(), s.env.Log, s.env.Secrets)
	logged = true
	reattach := variable(s.env.Environ, reattachEnv)
	proc, err := launch.Start(ctx, launch.Spec{
		Path: exe.Run, Name: s.name, Env: settings.env, Dir: set.Dir, StartTimeout: limit,
		OnStderr: log.line, Reattach: reattach,
	})
	if err != nil {
		log.close()
		return failed(AsFailure(err))
	}
	client, desc := s.recorded(proc.Adapter(), desc)
	r := newRun(s, proc, client, desc, log)
	r.key, r.tokens, r.stale = key, settings.tokens, settings.stale
	r.debugged = gjson.Get(reattach, s.name).Exists()
	tools, fail := r.open(ctx, settings.config)
	if fail == nil {
		fail = swapped(exe)
	}
	if fail != nil {
		if fail.StderrTail == nil {
			fail.StderrTail = plainLines(proc.Tail())
		}
		r.abandon()
		return failed(fail)
	}
	return r, tools, nil
}

// PluginFile is the path of the plugin's file. The error, a *Failure, says why there
// is none that could be started.
func (s *Server) PluginFile(ctx context.Context) (string, error) {
	return s.pluginFile(ctx, s.Settings())
}

// pluginFile finds the plugin's file. Of the entry only the plugin's path is
// resolved for that: no !command runs for a plugin that is not there.
func (s *Server) pluginFile(ctx context.Context, set *config.Server) (string, error) {
	only := config.Server{Name: s.name, File: set.File, Line: set.Line, Dir: set.Dir, Plugin: PluginName(set)}
	res, err := only.Resolve(ctx, s.env.Resolver)
	if err != nil {
		return "", misconfigured(err)
	}
	path, err := s.env.Plugins.Find(res.Plugin, set.Dir)
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

func startTimeout(set *config.Server, desc *describe.Description) time.Duration {
	switch {
	case set.StartTimeout > 0:
		return set.StartTimeout
	case desc.DefaultStartTimeout > 0:
		return desc.DefaultStartTimeout
	default:
		return defaultStartTimeout
	}
}

// startFailure words a failed start. Whatever step was under way when the time
// was up, f, it is the start's time that ran out; parent ends when nobody wants
// this start any more.
func startFailure(parent, ctx context.Context, set *config.Server, limit time.Duration, f *Failure) *Failure {
	f.Delivery = failure.NotSent
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		f.Class = failure.Timeout
		hint := "try again"
		if set.Command != "" {
			hint = "a package runner may still be downloading, so " + hint
		}
		f.Message = fmt.Sprintf("not ready within its start_timeout of %s; %s or raise start_timeout (%s:%d): %s", limit, hint, set.File, set.Line, f.Message)
	case parent.Err() != nil:
		f.Class, f.Message = failure.Canceled, "canceled while starting"
	case f.Class == failure.Timeout: // the adapter has seen the end of it coming, and knows more
		f.Message += fmt.Sprintf("; start_timeout is %s (%s:%d)", limit, set.File, set.Line)
	}
	return f
}

// open hands the settings over, waits until the adapter says its upstream is
// there, and lists the tools.
func (r *run) open(ctx context.Context, config []byte) ([]*catalog.Tool, *Failure) {
	req := &adapterpb.ConfigureRequest{Server: r.server.name, Config: config, HostVersion: r.server.env.Version}
	if asks := r.server.env.Asks; asks != nil && asks() && slices.Contains(r.desc.Features, featureAsk) {
		req.HostFeatures = append(req.HostFeatures, featureAsk)
	}
	if r.tokens != nil && r.server.env.Tokens != nil {
		req.HostFeatures = append(req.HostFeatures, featureToken)
	}
	if req.HostFeatures != nil {
		id, err := r.proc.ServeHost(recording.Host(r.client, &hostService{questions: &r.questions, tokens: r.server.env.Tokens, settings: r.tokens}))
		if err != nil {
			return nil, AsFailure(err)
		}
		req.HostService = id
	}
	if _, err := r.client.Configure(ctx, req); err != nil {
		if status.Code(err) == codes.Unimplemented {
			return nil, notSent(failure.ConnectionRefused, "plugin %s does not know Configure of collet.adapter.v1.Adapter: it is a go-plugin binary, but no collet adapter", r.server.Plugin())
		}
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
