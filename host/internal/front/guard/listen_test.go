package guard

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestListen(t *testing.T) {
	for address, open := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.0.0.2:0": true, "[::1]:0": true, "[::ffff:127.0.0.1]:0": true,
		":0": false, "0.0.0.0:0": false, "[::]:0": false, "192.0.2.1:0": false, "[::ffff:0.0.0.0]:0": false,
	} {
		l, err := Listen(t.Context(), address, false)
		if l != nil {
			l.Close()
		}
		if _, op := errors.AsType[*net.OpError](err); open && op {
			continue // a system without that address
		}
		if open != (err == nil) || !open && !errors.Is(err, ErrOpen) {
			t.Errorf("%s without authentication: %v", address, err)
		}
		if !open && (!strings.Contains(err.Error(), "127.0.0.1:0") || !strings.Contains(err.Error(), address)) {
			t.Errorf("%s: the error does not say what to write instead: %v", address, err)
		}
	}
	l, err := Listen(t.Context(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatalf("every interface, with authentication: %v", err)
	}
	l.Close()
	for _, address := range []string{"8080", "", "localhost", "::1:8080", "127.0.0.1:http:1"} {
		if _, err := Listen(t.Context(), address, true); err == nil || !strings.Contains(err.Error(), "host and port") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	l := &listener{most: 3, mostPerAddress: 2, open: map[netip.Addr]int{}}
	a, b, c, here := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3"), netip.MustParseAddr("127.0.0.1")
	for i, want := range []struct {
		addr netip.Addr
		in   bool
	}{{a, true}, {a, true}, {a, false}, {b, true}, {b, false}, {c, false}} {
		if l.admit(want.addr) != want.in {
			t.Errorf("connection %d of %s: want %t", i, want.addr, want.in)
		}
	}
	l.leave(a)
	if !l.admit(c) {
		t.Error("a connection that has ended still counts")
	}
	for _, addr := range []netip.Addr{a, b, c} {
		l.leave(addr)
	}
	for i := range 4 {
		if l.admit(here) != (i < 3) {
			t.Error("loopback counts in total alone", i)
		}
	}
	for range 3 {
		l.leave(here)
	}
	if l.total != 0 || len(l.open) != 0 {
		t.Errorf("nothing is open, and %d in %v are counted", l.total, l.open)
	}
}

func TestListenerClosesWhatIsTooMuch(t *testing.T) {
	opened, err := Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	l := opened.(*listener)
	l.most = 1
	s := Server(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), nil)
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	defer func() {
		s.Close()
		<-served
	}()
	get := func(c net.Conn) (string, error) {
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) // a closed one shows in Read
		b := make([]byte, 15)
		n, err := c.Read(b)
		return string(b[:n]), err
	}
	first, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if got, err := get(first); got != "HTTP/1.1 200 OK" {
		t.Fatalf("the first connection: %q, %v", got, err)
	}
	second, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got, err := get(second); err == nil {
		t.Errorf("a connection too many is served: %q", got)
	}
	if got, err := get(first); got == "" {
		t.Errorf("the first connection suffers: %v", err)
	}
}
