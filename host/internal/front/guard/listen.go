package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

const (
	// mostConnections are open at once; a further one is closed as it comes. Each
	// costs some 20 KB before it has said anything.
	mostConnections = 4096
	// mostPerAddress are open at once from one address that is not this computer.
	mostPerAddress = 512
)

// ErrOpen is the cause of Listen's refusal to be reached from other computers
// without authentication.
var ErrOpen = errors.New("without authentication collet listens on the loopback interface only")

// Listen opens address, "host:port", for HTTP. Beyond loopback it does so only with
// auth: everybody who reaches the port could use every tool. A host that is empty
// or 0.0.0.0 means every interface; a name means what it resolves to. The listener
// holds a bounded number of connections.
func Listen(ctx context.Context, address string, auth bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: write host and port, for instance 127.0.0.1:8080 or [::1]:8080: %w", address, err)
	}
	if !auth {
		if err := onlyLoopback(ctx, host, port); err != nil {
			return nil, fmt.Errorf("listen on %q: %w", address, err)
		}
	}
	var config net.ListenConfig
	inner, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	if !auth && !loopback(inner.Addr()) { // the name resolved to something else meanwhile
		inner.Close()
		return nil, fmt.Errorf("listen on %q, which is %s: %w", address, inner.Addr(), ErrOpen)
	}
	return &listener{Listener: inner, most: mostConnections, mostPerAddress: mostPerAddress, open: map[netip.Addr]int{}}, nil
}

// onlyLoopback returns why the host is more than this computer.
func onlyLoopback(ctx context.Context, host, port string) error {
	refusal := func(what string) error {
		return fmt.Errorf("%s: %w; write 127.0.0.1:%s, or configure tokens or an issuer", what, ErrOpen, port)
	}
	if host == "" {
		return refusal("no host means every interface")
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return fmt.Errorf("look up the host: %w", err)
	}
	for _, a := range addrs {
		switch a = a.Unmap(); {
		case a.IsUnspecified():
			return refusal(a.String() + " means every interface")
		case !a.IsLoopback():
			return refusal(a.String() + " can be reached from other computers")
		}
	}
	return nil
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.AddrPort().Addr().Unmap().IsLoopback()
}

// listener closes connections beyond its bounds as they come: to let them wait
// would let whoever holds the others decide who gets in.
type listener struct {
	net.Listener
	most, mostPerAddress int

	mu    sync.Mutex
	total int
	open  map[netip.Addr]int // by address; loopback counts only in total
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := remote(c)
		if !l.admit(from) {
			c.Close()
			continue
		}
		return &conn{Conn: c, closed: sync.OnceFunc(func() { l.leave(from) })}, nil
	}
}

func (l *listener) admit(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.most || !from.IsLoopback() && l.open[from] >= l.mostPerAddress {
		return false
	}
	l.total++
	l.open[from]++
	return true
}

func (l *listener) leave(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.open[from]--; l.open[from] == 0 {
		delete(l.open, from)
	}
}

func remote(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

type conn struct {
	net.Conn
	closed func()
}

func (c *conn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
