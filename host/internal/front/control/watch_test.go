//go:build unix

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// watching has a client watch, and returns what it hears once it listens, and how that
// ended.
func watching(t *testing.T, c *Client) (heard <-chan News, stop func(), ended <-chan error) {
	t.Helper()
	news, done := make(chan News, 1000), make(chan error, 1)
	ctx, cancel := context.WithCancel(patient(t))
	go func() { done <- c.Watch(ctx, func(n News) { news <- n }) }()
	if n := next(t, news); n != (News{}) {
		t.Fatalf("the first of the news is %+v", n)
	}
	return news, cancel, done
}

func next(t *testing.T, heard <-chan News) News {
	t.Helper()
	select {
	case n := <-heard:
		return n
	case <-patient(t).Done():
		t.Fatal("nothing more is told")
		return News{}
	}
}

func call(t *testing.T, c *Client, tool, arguments string) error {
	t.Helper()
	_, err := c.Call(patient(t), host.Request{Tool: tool, Arguments: json.RawMessage(arguments)})
	return err
}

// All who watch hear what the calls of others do, in order and with how they ended, and
// one that has enough is as good for something else.
func TestWatch(t *testing.T) {
	s := serve(t, "", native())
	c, other := s.dial(t), s.dial(t)
	heard, stop, ended := watching(t, c)
	also, _, _ := watching(t, other)
	_ = call(t, other, "n/echo", `{"text":"x"}`)
	_ = call(t, other, "n/c_error", `{}`)
	_ = call(t, other, "n/c_rpc_error", `{}`)
	_ = call(t, other, "n/nothing", `{}`)
	var want, state []News
	for _, n := range []News{{Tool: "echo"}, {Tool: "c_error", Failed: true}, {Tool: "c_rpc_error", Class: "server-error"}, {Tool: "nothing", Class: "not-found"}} {
		n.Server = "n"
		begun := News{Server: "n", Tool: n.Tool, Begun: true}
		n.Ended = true
		want = append(want, begun, n)
	}
	for _, news := range []<-chan News{heard, also} {
		var got []News
		state = nil
		for len(got) < len(want) {
			if n := next(t, news); n.State != "" {
				state = append(state, n)
			} else {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("heard\n%+v, want\n%+v", got, want)
		}
		if !slices.Contains(state, News{Server: "n", State: "starting"}) || !slices.Contains(state, News{Server: "n", State: "ready"}) {
			t.Errorf("the states that were told: %+v", state)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
	if err := call(t, c, "n/echo", `{"text":"x"}`); err != nil {
		t.Errorf("a call after it: %v", err)
	}
}

// A watch ends with the host, and says so; one whose process has gone holds nothing up.
func TestWatchEnds(t *testing.T) {
	s := serve(t, "none", native())
	gone, stays := s.dial(t), s.dial(t)
	_, _, left := watching(t, gone)
	_, _, ended := watching(t, stays)
	gone.end(net.ErrClosed)
	if err := <-left; !Lost(err) {
		t.Errorf("who goes hears %v", err)
	}
	s.until(t, 1)
	s.Close()
	if err := <-ended; err == nil || !strings.HasSuffix(err.Error(), ") has ended") {
		t.Errorf("who stays hears %v", err)
	}
}

// A client that reads slowly is told how much it has missed, to the last, holds nobody
// up, and what it asks then is how things are.
func TestWatchSlowly(t *testing.T) {
	s := serve(t, "", native())
	other := s.dial(t)
	if err := call(t, other, "n/echo", `{"text":"x"}`); err != nil {
		t.Fatal(err)
	}
	slow := s.raw(t)
	if err := slow.write(opWatch, 2, nil); err != nil {
		t.Fatal(err)
	}
	_ = slow.conn.SetReadDeadline(time.Now().Add(patience))
	read := func() (m message) {
		t.Helper()
		m, err := slow.read()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for m := read(); m.op != opNews; m = read() {
	}
	// A call of a server that is none ends at once, and is told like any other. What is told has
	// a name of some length, so that the socket is full soon.
	const callers, calls = 8, 500
	wrong := "nobody/" + strings.Repeat("x", 4000)
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for range calls {
				if f, ok := errors.AsType[*host.Failure](call(t, other, wrong, `{}`)); !ok || f.Class != failure.NotFound {
					t.Errorf("a call while somebody does not read: %v", f)
				}
			}
		})
	}
	calling.Wait()
	if err := other.Restart(patient(t), "n"); err != nil {
		t.Fatal(err)
	}
	told, lost, states := 0, 0, 0
	for ended := 2 * callers * calls; told+lost < ended || states == 0 && lost == 0; {
		m := read()
		var n News
		if err := unpack(m.body, &n); err != nil || m.op != opNews {
			t.Fatal(m.op, err)
		}
		lost += n.Lost
		switch {
		case n.State != "":
			states++
		case n.Server == "nobody":
			told++
		}
	}
	if lost == 0 {
		t.Errorf("it has missed nothing of %d", told) // then this test shows nothing
	}
	if err := slow.write(opServers, 3, nil); err != nil {
		t.Fatal(err)
	}
	m := read()
	for ; m.id != 3; m = read() {
	}
	var servers []host.Server
	if err := unpack(m.body, &servers); err != nil || len(servers) != 1 || servers[0].State != "ready" {
		t.Errorf("%v, what it asks is %+v", err, servers)
	}
}

// started is how many processes of the misbehaving server there have been.
func (s *serving) started(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), `"start"`)
}

// A failure of a restart comes to the other process as what it is.
func TestRestartFails(t *testing.T) {
	s := serve(t, "[servers.off]\ncommand = 'x'\ndisabled = true\n[servers.missing]\ncommand = 'no-such-program'\n", native())
	c := s.dial(t)
	for server, class := range map[string]failure.Class{"nobody": failure.NotFound, "": failure.NotFound, "n/echo": failure.NotFound, "off": failure.NotFound, "missing": failure.ConnectionRefused} {
		err := c.Restart(patient(t), server)
		if f, ok := errors.AsType[*host.Failure](err); !ok || f.Class != class || f.Server != server || Lost(err) {
			t.Errorf("%q: %v, want class %s", server, err, class)
		}
	}
	if err := c.Restart(patient(t), "n"); err != nil {
		t.Errorf("after them: %v", err)
	}
}

// A server that has crashed is started anew.
func TestRestartCrashed(t *testing.T) {
	s := serve(t, "", native())
	c := s.dial(t)
	if err := call(t, c, "n/x_exit", `{}`); err == nil {
		t.Fatal("it did not crash")
	}
	before := s.started(t)
	if err := c.Restart(patient(t), "n"); err != nil {
		t.Fatal(err)
	}
	if got := s.started(t); got <= before {
		t.Errorf("%d processes after the restart, %d before", got, before)
	}
	if err := call(t, c, "n/echo", `{"text":"x"}`); err != nil {
		t.Error(err)
	}
}

// Two that restart a server at once get one process, and one that goes meanwhile takes
// nothing along.
func TestRestartAtOnce(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	gate, starts := filepath.Join(t.TempDir(), "gate"), filepath.Join(t.TempDir(), "starts")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	// It starts when the test opens the gate.
	s := serve(t, fmt.Sprintf("[servers.held]\ncommand = 'sh'\nargs = ['-c', 'echo x >>\"$0\"; read x <\"$1\"; exec \"$2\"', %q, %q, %q]\n", starts, gate, filepath.Join(bin, "faultserver")), native())
	one, two, three := s.dial(t), s.dial(t), s.dial(t)
	ended, left := make(chan error, 2), make(chan error, 1)
	restart := func(c *Client, ended chan error) { ended <- c.Restart(patient(t), "held") }
	go restart(one, ended)
	go restart(two, ended)
	go restart(three, left)
	s.begun(t, 3)
	three.end(net.ErrClosed)
	if err := <-left; !Lost(err) {
		t.Errorf("who goes hears %v", err)
	}
	s.until(t, 2)
	opened, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(starts); err != nil || string(text) != "x\n" {
		t.Errorf("%v, it was started as often as this has lines:\n%s", err, text)
	}
	if err := call(t, one, "held/echo", `{"text":"x"}`); err != nil {
		t.Error(err)
	}
}

// begun waits until so many things are being done.
func (s *serving) begun(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // nothing tells of it
		n := 0
		s.mu.Lock()
		for p := range s.conns {
			p.mu.Lock()
			n += len(p.begun)
			p.mu.Unlock()
		}
		s.mu.Unlock()
		if n == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d things are being done, want %d", n, want)
		}
	}
}

// A call in flight at a restart is answered by the process that has it, and the next by
// another.
func TestRestartWithCalls(t *testing.T) {
	s := serve(t, "", native())
	c, other := s.dial(t), s.dial(t)
	begun, answered := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		res, err := c.Call(patient(t), host.Request{Tool: "n/t_progress", Arguments: json.RawMessage(`{"ms":1500,"step":50}`), OnProgress: func(host.Progress) { once.Do(func() { close(begun) }) }})
		if err == nil && !strings.Contains(string(res.JSON), "done") {
			err = fmt.Errorf("the answer is %s", res.JSON)
		}
		answered <- err
	}()
	select {
	case <-begun:
	case err := <-answered:
		t.Fatal("it ended before its first progress:", err)
	}
	if err := other.Restart(patient(t), "n"); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := call(t, c, "n/echo", `{"text":"x"}`); err != nil {
		t.Error(err)
	}
	if n := s.started(t); n < 2 {
		t.Errorf("%d processes were started", n)
	}
}
