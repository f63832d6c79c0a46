package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/front/control"
)

// told is a running host whose news the test makes.
type told struct {
	mu      sync.Mutex
	servers []host.Server
	hear    chan control.News
	ended   chan error
	hangs   bool // it is there, and answers nothing
	closed  chan struct{}
	resized chan os.Signal
	streams *terminal.Streams
}

func (h *told) Status(context.Context) (*control.Status, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hangs {
		h.mu.Unlock()
		<-h.closed
		h.mu.Lock()
		return nil, net.ErrClosed
	}
	return &control.Status{Servers: append([]host.Server{}, h.servers...)}, nil
}

func (h *told) Close() error {
	close(h.closed)
	return nil
}

func (h *told) Watch(ctx context.Context, hear func(control.News)) error {
	hear(control.News{})
	for {
		select {
		case n := <-h.hear:
			hear(n)
		case err := <-h.ended:
			return err
		case <-ctx.Done():
			h.mu.Lock()
			hangs := h.hangs
			h.mu.Unlock()
			if hangs {
				<-h.closed
			}
			return ctx.Err()
		}
	}
}

// watching runs the command in a bubble of synctest, and returns what has been written
// since the last look once everything is quiet, and how it ended.
func watching(t *testing.T, ctx context.Context, h *told, onTerminal bool) (look func() string, end func() error) {
	var mu sync.Mutex
	var out strings.Builder
	streams := &terminal.Streams{Out: writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return out.Write(p)
	}), OutTerminal: onTerminal}
	if onTerminal {
		streams.Width = 100
	}
	h.streams = streams
	ended := make(chan error, 1)
	go func() {
		ended <- serversWatchRun(ctx, &serversWatchOptions{
			Streams: streams, Now: func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) },
			Host:    func(context.Context) (watched, error) { return h, nil },
			Resized: func() (<-chan os.Signal, func()) { return h.resized, func() {} },
		})
	}()
	return func() string {
		time.Sleep(2 * redrawStep) // of the bubble's clock
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		defer out.Reset()
		return out.String()
	}, func() error { return <-ended }
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func newTold() *told {
	return &told{
		servers: []host.Server{{Name: "a", State: "ready", Pid: 7}, {Name: "b", State: "idle"}},
		hear:    make(chan control.News), ended: make(chan error), closed: make(chan struct{}), resized: make(chan os.Signal),
	}
}

// On a terminal the view is replaced: calls are counted, those in flight too, and the
// last error stays until the server itself has one.
func TestServersWatchOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTold()
		ctx, cancel := context.WithCancel(t.Context())
		look, end := watching(t, ctx, h, true)
		rows := func(want ...string) {
			t.Helper()
			views := strings.Split(look(), "\x1b[J") // there is one for each thing that was heard by itself
			lines := strings.Split(views[max(0, len(views)-2)], "\n")
			for i, l := range lines {
				_, l, _ = strings.Cut(l, "\x1b[2K")
				lines[i] = strings.Join(strings.Fields(l), " ")
			}
			want = append([]string{"NAME STATE PID CALLS RUNNING LAST ERROR"}, want...)
			if got := lines[:min(len(want), len(lines))]; strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		rows("a ready 7 0 0", "b idle 0 0")
		h.hear <- control.News{Server: "a", Tool: "x", Begun: true}
		h.hear <- control.News{Server: "a", Tool: "y", Begun: true}
		h.hear <- control.News{Server: "a", Tool: "x", Ended: true}
		rows("a ready 7 1 1", "b idle 0 0")
		h.hear <- control.News{Server: "a", Tool: "y", Ended: true, Class: "timeout"}
		h.hear <- control.News{Server: "strangers\x1b[2J", Tool: "y", Ended: true}
		rows("a ready 7 2 0 y: timeout", "b idle 0 0")
		h.mu.Lock()
		h.servers[0] = host.Server{Name: "a", State: "failed", Error: "it \x1b[31mended"}
		h.mu.Unlock()
		h.hear <- control.News{Server: "a", State: "failed"}
		rows(`a failed 2 0 it \x1b[31mended`, "b idle 0 0")
		if text := look(); text != "" {
			t.Errorf("nothing happened, and it wrote %q", text)
		}
		cancel()
		if err := end(); exitCode(err) != exitCanceled {
			t.Errorf("after Ctrl-C: %v", err)
		}
	})
}

// Elsewhere a line tells each thing, in order and none twice.
func TestServersWatchInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTold()
		look, end := watching(t, t.Context(), h, false)
		const at = "15:04:05  "
		if got, want := look(), at+"a  ready, pid 7\n"+at+"b  idle\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		h.mu.Lock()
		h.servers[1] = host.Server{Name: "b", State: "ready", Pid: 8}
		h.mu.Unlock()
		for _, n := range []control.News{
			{Server: "b", State: "starting"}, {Server: "b", State: "ready"}, {Server: "b", Tool: "x", Begun: true},
			{Server: "b", Tool: "x", Ended: true, Failed: true}, {Server: "nobody", Tool: "x", Ended: true}, {Server: "a", Tool: "z", Ended: true, Lost: 3},
		} {
			h.hear <- n
		}
		want := at + "b  starting\n" + at + "b  ready, pid 8\n" + at + "b  x: the tool says it failed\n" + at + "-  3 things happened that there was no time to tell\n" + at + "a  z: ok\n" +
			at + "a  ready, pid 7\n" + at + "b  ready, pid 8\n" // as they are then
		if got := look(); got != want {
			t.Errorf("%q\nwant\n%q", got, want)
		}
		h.ended <- errors.New("the connection ended")
		if err := end(); exitCode(err) != exitUnreachable || !strings.Contains(err.Error(), "the connection ended") {
			t.Errorf("after the host's end: %v", err)
		}
	})
}

// A terminal that becomes narrower has the view anew at once, without a line that is
// longer than it.
func TestServersWatchResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTold()
		h.servers[0].Error = strings.Repeat("日本 ", 30)
		ctx, cancel := context.WithCancel(t.Context())
		look, end := watching(t, ctx, h, true)
		look()
		for _, width := range []int{30, 12, 1} {
			before := time.Now()
			h.streams.Width = width
			h.resized <- os.Interrupt // what it is does not matter
			synctest.Wait()
			if waited := time.Since(before); waited != 0 {
				t.Errorf("it took %s", waited)
			}
			view := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "", "\x1b[J", "", "\x1b[2K", "").Replace(look())
			_, view, _ = strings.Cut(view, "A") // the cursor goes up
			lines := strings.Split(strings.TrimSuffix(view, "\n"), "\n")
			if len(lines) != 3 {
				t.Fatalf("at %d: %q", width, lines)
			}
			for _, l := range lines {
				if terminal.Columns(l) > width {
					t.Errorf("%q is longer than %d", l, width)
				}
			}
		}
		cancel()
		_ = end()
	})
}

// A host that hangs is told of, though nothing happens, and keeps nobody from leaving.
func TestServersWatchHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTold()
		ctx, cancel := context.WithCancel(t.Context())
		look, end := watching(t, ctx, h, true)
		if text := look(); !strings.Contains(text, "ready") {
			t.Fatalf("%q", text)
		}
		h.mu.Lock()
		h.hangs = true
		h.mu.Unlock()
		time.Sleep(stateStep + stateWait)
		if text := look(); strings.Contains(text, "ready") || strings.Count(text, "unknown") != 2 || !strings.Contains(text, "does not answer") {
			t.Errorf("of a host that hangs: %q", text)
		}
		before := time.Now()
		cancel()
		if err := end(); exitCode(err) != exitCanceled || time.Since(before) != 0 {
			t.Errorf("after Ctrl-C: %v, %s later", err, time.Since(before))
		}
	})
}
