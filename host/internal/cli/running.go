package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/front/control"
)

// options say which configuration counts: the file that is named, or layers.
func (f *Factory) options(layers []host.Layer) host.Options {
	if file := f.named(); file != "" {
		return host.Options{ConfigFiles: []string{file}}
	}
	return host.Options{Layers: layers}
}

// place is where a host of the configuration is found. It is not ok where no other
// process could have the same one, as of a file that can be read once.
func (f *Factory) place(layers []host.Layer) (place control.Place, ok bool) {
	if file := f.named(); file != "" {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			return control.Place{}, false
		}
	}
	sum, err := f.options(layers).Fingerprint()
	if err != nil {
		return control.Place{}, false // whoever opens the host tells
	}
	return control.PlaceOf(host.StateDir(), sum), true
}

// auto reports whether the configuration wants a host in the background, and how
// long that stays. COLLET_DAEMON has the last word.
func (f *Factory) auto(layers []host.Layer) (idle time.Duration, ok bool) {
	word := f.Getenv("COLLET_DAEMON")
	if file := f.named(); file != "" {
		layers = config.ReadNamed([]string{file})
	}
	ok = word != ""
	for _, l := range layers {
		ok = ok || bytes.Contains(l.Data, []byte("daemon")) // most do not say, and are not read for it
	}
	if !ok {
		return 0, false
	}
	h := config.Merge(layers).Host
	return h.DaemonIdle, cmp.Or(word, h.Daemon) == "auto"
}

// running is the host of another process, for the same configuration in the same
// environment; nil when there is none that answers.
func (f *Factory) running(ctx context.Context, layers []host.Layer) openHost {
	if !f.shares || f.record != nil || f.frozen { // what this host does is not what another does
		return nil
	}
	_, auto := f.auto(layers)
	if !auto && !control.PlaceOf(host.StateDir(), "").Busy() {
		return nil
	}
	place, ok := f.place(layers)
	if !ok {
		return nil
	}
	dialing, cancel := context.WithTimeout(ctx, dialWait)
	c, err := control.Dial(dialing, place, control.Build(f.Version))
	cancel()
	switch {
	case errors.Is(err, control.ErrOther) && auto:
		_ = c.Yield(ctx) // one that does not is asked in vain, and the command does without
		c.Close()
		fallthrough
	case control.Silent(err): // it has the place, and no other gets it
		c = nil
	case err != nil && auto && ctx.Err() == nil:
		c, _ = f.startDaemon(ctx, place, layers, autoWait) // the command does without
	case errors.Is(err, control.ErrOther):
		c.Close()
		c = nil
	case err != nil:
		c = nil
	}
	if c == nil {
		return nil
	}
	return &remote{Client: c, open: func(ctx context.Context) (openHost, error) { return f.openLayers(ctx, layers) }}
}

// dialWait is how long a host that is there may take to say so, before a command does
// without. Tests give it longer, which run on machines that have more to do.
var dialWait = time.Second

const (
	// autoWait is how long a command waits for the host that it has started before it
	// does without.
	autoWait = 3 * time.Second
	// startPoll is how often a host that starts is looked for: nothing tells of it.
	startPoll = 5 * time.Millisecond
	// startTries is how many hosts a command starts: the first may have found one that was
	// just about to end.
	startTries = 2
)

// startDaemon starts a host in the background and connects to it, or to the one that was
// faster. The error says why that does not work, or not in time.
func (f *Factory) startDaemon(ctx context.Context, place control.Place, layers []host.Layer, limit time.Duration) (*control.Client, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"daemon", "run", "--background"}
	if file := f.named(); file != "" {
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
		args = append(args, "--config", file)
	}
	if f.logLevel != "" {
		args = append(args, "--log-level", f.logLevel)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var ended <-chan *os.ProcessState // of the one that was started last, until it has
	for started := 0; ctx.Err() == nil; {
		c, reached := control.Dial(ctx, place, control.Build(f.Version))
		if reached == nil {
			return c, nil
		}
		if c != nil {
			c.Close()
		}
		if ended == nil && started < startTries {
			if ended, err = startDetached(exe, f.backgroundDirectory(layers), args); err != nil {
				return nil, err
			}
			started++
		}
		select {
		case state := <-ended:
			if code := state.ExitCode(); code != exitOwned { // it cannot be a host, and waiting will not help
				if why := lastWords(backgroundLog(), state.Pid()); why != "" {
					return nil, exitf(code, "the host does not start: %s", why)
				}
				return nil, errNotStarted
			}
			if pid, held := control.Holder(place); held && started == startTries && c == nil && !control.Silent(reached) {
				return nil, unreachable(pid)
			}
			ended = nil
		case <-ctx.Done():
		case <-time.After(startPoll):
		}
	}
	return nil, errNotStarted
}

var errNotStarted = exitf(exitUnreachable, "the host does not start; 'collet daemon run' in a terminal shows why")

// unreachable is that a process has the place of the configuration, where nobody can
// connect to it.
func unreachable(pid int) error {
	return exitf(exitUnreachable, "the process %d is the host of this configuration, but its socket is gone; it makes a new one within a minute. Commands do without it until then", pid)
}

// remote is the host of another process. When that has ended everything is done by a
// host of this process.
type remote struct {
	local
	*control.Client
	open func(context.Context) (openHost, error)
	own  openHost
}

// here is a host of this process.
func (r *remote) here(ctx context.Context) (openHost, error) {
	if r.own != nil {
		return r.own, nil
	}
	h, err := r.open(ctx)
	if err == nil {
		r.own = h
	}
	return h, err
}

// again reports whether something has to be asked here, because the other host has
// ended before it answered.
func (r *remote) again(ctx context.Context, err error) (openHost, bool) {
	if !control.Lost(err) || ctx.Err() != nil {
		return nil, false
	}
	h, err := r.here(ctx)
	return h, err == nil
}

func (r *remote) Tools(ctx context.Context, q host.Query) (*host.Listing, error) {
	if r.own != nil {
		return r.own.Tools(ctx, q)
	}
	list, err := r.Client.Tools(ctx, q)
	if h, ok := r.again(ctx, err); ok {
		return h.Tools(ctx, q)
	}
	return list, err
}

func (r *remote) Tool(ctx context.Context, name string) (*host.Tool, error) {
	if r.own != nil {
		return r.own.Tool(ctx, name)
	}
	t, err := r.Client.Tool(ctx, name)
	if h, ok := r.again(ctx, err); ok {
		return h.Tool(ctx, name)
	}
	return t, err
}

func (r *remote) Call(ctx context.Context, req host.Request) (*host.Result, error) {
	if r.own != nil {
		return r.own.Call(ctx, req)
	}
	return r.Client.Call(ctx, req) // one that was lost may have been made
}

func (r *remote) Search(ctx context.Context, q host.SearchQuery) (json.RawMessage, error) {
	if r.own != nil {
		return r.own.Search(ctx, q)
	}
	found, err := r.Client.Search(ctx, q)
	if h, ok := r.again(ctx, err); ok {
		return h.Search(ctx, q)
	}
	return found, err
}

// errNotShared is of what no host does for another process: the commands that want
// it open one of their own.
var errNotShared = errors.New("the host of another process does not do that")

// local is what commands that open a host of their own do with it.
type local struct{}

func (local) Front() frontend                            { return nil }
func (local) Handler(host.HTTPOptions) (endpoint, error) { return nil, errNotShared }
func (local) Subscribe(func(host.Event)) (cancel func()) { return func() {} }
func (local) Diagnose(context.Context, host.DiagnoseQuery) (*host.Diagnosis, error) {
	return nil, errNotShared
}
func (local) Plugins(context.Context) ([]host.Plugin, error) { return nil, errNotShared }
func (local) ReviewTools(context.Context, []string, time.Duration) ([]host.ToolPins, error) {
	return nil, errNotShared
}
func (local) AcceptPlugin(context.Context, *host.Plugin) error            { return errNotShared }
func (local) AcceptTools(context.Context, *host.ToolPins, []string) error { return errNotShared }
func (local) ForgetTools(context.Context, *host.ToolPins, []string) error { return errNotShared }
func (local) Logout(context.Context, string) error                        { return errNotShared }
func (local) Credential(context.Context, string) (host.Credential, error) {
	return host.Credential{}, errNotShared
}
func (local) Login(context.Context, string, host.Browser) (host.CredentialStatus, error) {
	return host.CredentialStatus{}, errNotShared
}

func (r *remote) Close() error {
	err := r.Client.Close()
	if r.own != nil {
		err = errors.Join(err, r.own.Close())
	}
	return err
}
