package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/front/control"
)

// watched is a host of another process, which tells what happens to its servers.
type watched interface {
	Watch(ctx context.Context, hear func(control.News)) error
	Status(ctx context.Context) (*control.Status, error)
	Close() error
}

// runningHost is the host of another process for this configuration and environment.
func (f *Factory) runningHost(ctx context.Context) (*control.Client, error) {
	_, c, err := (&daemonOptions{f: f, Streams: f.Streams}).find(ctx)
	switch {
	case errors.Is(err, control.ErrOther):
		c.Close()
		return nil, exitf(exitUnreachable, "the running host (pid %d) is another build of collet; 'collet daemon start' puts this one in its place", c.Welcome.Pid)
	case err != nil:
		return nil, err
	case c == nil:
		return nil, exitf(exitUnreachable, "no host is running for this configuration in this environment; 'collet daemon start' starts one, and 'collet serve' is one")
	}
	return c, nil
}

type serversWatchOptions struct {
	Streams *terminal.Streams
	Host    func(context.Context) (watched, error)
	Now     func() time.Time
	// Resized tells that the terminal may have another size, until stop is called.
	Resized func() (tells <-chan os.Signal, stop func())
}

const (
	// redrawStep is the least time between two views: as often as an eye follows, however
	// many calls there are.
	redrawStep = 100 * time.Millisecond
	// stateWait is how long the host may take to say how its servers are, which it has in
	// memory, before they are shown as unknown.
	stateWait = time.Second
	// stateStep is how often that is asked for a view while nothing is heard: a host that
	// hangs says nothing of it.
	stateStep = 2 * time.Second
	// unreadStep is how often somebody is looked for who reads.
	unreadStep = 100 * time.Millisecond
)

func serversWatchRun(ctx context.Context, opts *serversWatchOptions) error {
	h, err := opts.Host(ctx)
	if err != nil {
		return err
	}
	w := &watch{tallies: map[string]*tally{}, fresh: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	answers := make(chan []host.Server, 1) // nil when the host did not say
	var work sync.WaitGroup
	defer func() {
		cancel()
		h.Close() // before it is waited for: a host that hangs does not end what it was asked
		work.Wait()
	}()
	work.Go(func() { ended <- h.Watch(ctx, w.hear) })

	show, redraws := w.lines(opts), opts.Streams.Redraws()
	var asks <-chan time.Time
	if redraws {
		show = w.table(opts)
		tick := time.NewTicker(stateStep)
		defer tick.Stop()
		asks = tick.C
	}
	look := time.NewTicker(unreadStep)
	defer look.Stop()
	resized, stop := opts.Resized()
	defer stop()

	var (
		servers     []host.Server // as the host last said
		asking, now bool          // whether it is asked; whether it has said so just now
		late, rest  <-chan time.Time
	)
	ask := func() {
		if asking {
			return
		}
		asking, late = true, time.After(stateWait)
		work.Go(func() {
			s, err := h.Status(ctx) // ends with the connection, which a host that hangs loses
			if err != nil {
				answers <- nil
				return
			}
			answers <- append([]host.Server{}, s.Servers...)
		})
	}
	for {
		fresh := w.fresh
		if asking || rest != nil {
			fresh = nil
		}
		var err error
		select {
		case <-fresh:
			ask()
		case <-asks:
			ask()
		case s := <-answers:
			asking, late, now = false, nil, s != nil
			if now {
				servers = s
			}
			err = show(servers, now)
			if redraws {
				rest = time.After(redrawStep)
			}
		case <-late:
			late, now = nil, false
			err = show(servers, now)
		case <-rest:
			rest = nil
		case <-resized:
			if redraws && servers != nil {
				err = show(servers, now)
			}
		case <-look.C:
			if opts.Streams.Unread() {
				return nil
			}
		case why := <-ended:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !redraws {
				_ = show(servers, false) // what was heard last
			}
			return exitf(exitUnreachable, "%v", why)
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// tally is what was heard of a server since the watch began.
type tally struct {
	calls, running, failed int
	last                   string // why the last call that failed did
}

// watch keeps what was heard until it is shown.
type watch struct {
	fresh chan struct{} // there is something to show

	mu      sync.Mutex
	tallies map[string]*tally
	news    []control.News // that lines tell, in order
}

// manyNews is how much is kept for lines; more has not been read for long, and is
// counted.
const manyNews = 10_000

func (w *watch) hear(n control.News) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tallies[n.Server]
	if t == nil {
		t = &tally{}
		w.tallies[n.Server] = t
	}
	if n.Lost > 0 { // ends, perhaps
		for _, t := range w.tallies {
			t.running = 0
		}
	}
	switch {
	case n.Begun:
		t.running++
	case n.Ended:
		t.running = max(t.running-1, 0) // it may have begun before
		t.calls++
		if why := outcomeOf(n); why != "" {
			t.failed++
			t.last = cmp.Or(n.Tool, "a request") + ": " + why
		}
	}
	if len(w.news) < manyNews {
		w.news = append(w.news, n)
	} else {
		w.news[len(w.news)-1].Lost++
	}
	select {
	case w.fresh <- struct{}{}:
	default:
	}
}

// outcomeOf is how a call failed, "" when it did not.
func outcomeOf(n control.News) string {
	if n.Failed {
		return "the tool says it failed"
	}
	return n.Class
}

// table is a view that is replaced whenever there is something new. Without now the
// servers are as the host said some time ago.
func (w *watch) table(opts *serversWatchOptions) func(servers []host.Server, now bool) error {
	screen := opts.Streams.Screen()
	return func(servers []host.Server, now bool) error {
		opts.Streams.Measure() // the table is made for the width
		w.mu.Lock()
		rows := make([][]string, 0, len(servers))
		for _, s := range servers {
			t := w.tallies[s.Name]
			if t == nil {
				t = &tally{}
			}
			if !now {
				s = host.Server{Name: s.Name, State: "unknown", Error: "the running host does not answer"}
			}
			rows = append(rows, []string{s.Name, s.State, pidText(s.Pid), strconv.Itoa(t.calls), strconv.Itoa(t.running), cmp.Or(s.Error, t.last)})
		}
		w.news = nil
		w.mu.Unlock()
		var b bytes.Buffer
		page := *opts.Streams
		page.Out = &b
		if err := page.Table([]string{"NAME", "STATE", "PID", "CALLS", "RUNNING", "LAST ERROR"}, rows); err != nil {
			return err
		}
		return screen.Show(strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"))
	}
}

// lines tells one thing after the other: first how every server is, then what becomes
// of them. Without now the servers are as the host said some time ago, and nothing is told
// of them but what was heard.
func (w *watch) lines(opts *serversWatchOptions) func(servers []host.Server, now bool) error {
	begun := false
	return func(servers []host.Server, now bool) error {
		if !begun && !now {
			return nil // it is told once the host says how they are
		}
		w.mu.Lock()
		news := w.news
		w.news = nil
		w.mu.Unlock()
		known := map[string]*host.Server{}
		for i := range servers {
			known[servers[i].Name] = &servers[i]
		}
		var b strings.Builder
		line := func(server, text string) {
			fmt.Fprintf(&b, "%s  %s  %s\n", opts.Now().Format(time.TimeOnly), server, terminal.Line(text))
		}
		if !begun {
			begun = true
			for _, s := range servers {
				line(s.Name, stateText(s.State, &s))
			}
			news = slices.DeleteFunc(news, func(n control.News) bool { return n.State != "" }) // shown already
		}
		lost := 0
		for _, n := range news {
			if n.Lost > 0 {
				line("-", fmt.Sprintf("%d things happened that there was no time to tell", n.Lost))
			}
			lost += n.Lost
			switch s := known[n.Server]; {
			case s == nil: // the configuration changed, or a call named no server
			case n.State != "" && !now:
				line(n.Server, n.State)
			case n.State != "":
				line(n.Server, stateText(n.State, s))
			case n.Ended:
				line(n.Server, cmp.Or(n.Tool, "a request")+": "+cmp.Or(outcomeOf(n), "ok"))
			}
		}
		if lost > 0 { // their states may have been among that
			for _, s := range servers {
				line(s.Name, stateText(s.State, &s))
			}
		}
		_, err := fmt.Fprint(opts.Streams.Out, b.String())
		return err
	}
}

// stateText is a state with what is known of a server that is still in it.
func stateText(state string, s *host.Server) string {
	if state != s.State {
		return state
	}
	if s.Pid != 0 {
		state += ", pid " + strconv.Itoa(s.Pid)
	}
	if s.Error != "" {
		state += ": " + s.Error
	}
	return state
}

func pidText(pid int) string {
	if pid == 0 {
		return ""
	}
	return strconv.Itoa(pid)
}
