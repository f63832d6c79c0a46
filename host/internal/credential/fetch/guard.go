package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Inward is the error for an address that a server may not point to.
type Inward struct {
	Host    string     // as it was named
	Address netip.Addr // what it is
	Server  reach      // where the server itself is
}

func (e *Inward) Error() string {
	if reachOf(e.Address) == never {
		return fmt.Sprintf("%s is link-local or reserved (%s), an address that nothing may point to", e.Host, e.Address)
	}
	return fmt.Sprintf("%s is %s (%s), to which a server %s may not send us", e.Host, reachOf(e.Address), e.Address, e.Server)
}

// reach says from where an address can be reached.
type reach uint8

const (
	public   reach = iota // from everywhere
	private               // from its own network (RFC 1918, RFC 4193, RFC 6598)
	loopback              // from this machine
	never                 // link-local (metadata services of clouds), multicast, reserved
)

func (r reach) String() string {
	return [...]string{"on the Internet", "in a private network", "on this machine", "an address that nothing may point to"}[r]
}

var (
	shared = netip.MustParsePrefix("100.64.0.0/10")
	// embedding are prefixes whose addresses stand for one of IPv4 in their last or
	// middle bytes: what they lead to cannot be told here.
	embedding = []netip.Prefix{
		netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
		netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
	}
	reserved = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("fec0::/10")}
)

func reachOf(a netip.Addr) reach {
	a = a.Unmap().WithZone("")
	switch {
	case a.IsLoopback():
		return loopback
	case !a.IsValid(), a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast(), a.IsInterfaceLocalMulticast(), in(a, reserved):
		return never
	case a.IsPrivate(), shared.Contains(a), in(a, embedding):
		return private
	}
	return public
}

func in(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// loopbackName says whether a host is this machine by its name alone (RFC 6761
// section 6.3).
func loopbackName(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && reachOf(a) == loopback
}

// guard is the transport of a Client. Names are resolved here, once a connection,
// so that the address that was approved is the one that is dialed.
type guard struct {
	server          string // host of the configured server
	proxy           func(*http.Request) (*url.URL, error)
	dial            func(ctx context.Context, network, address string) (net.Conn, error)
	direct, proxied *http.Transport

	mu    sync.Mutex
	known bool
	place reach // of the server, once known
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	via, err := g.proxy(r)
	if err != nil {
		return nil, err
	}
	if via == nil {
		return g.direct.RoundTrip(r)
	}
	// A proxy resolves the name; what can be told before is told here.
	host := r.URL.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		if err := g.approve(r.Context(), host, a); err != nil {
			return nil, err
		}
	}
	return g.proxied.RoundTrip(r)
}

// CloseIdleConnections is what http.Client.CloseIdleConnections asks for.
func (g *guard) CloseIdleConnections() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}

// guarded connects to the first approved address of a host that answers.
func (g *guard) guarded(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, a := range addrs {
		// All of a name's addresses have to be allowed: one that mixes them means harm.
		if err := g.approve(ctx, host, a); err != nil {
			return nil, err
		}
	}
	for i, a := range addrs {
		conn, err := g.try(ctx, network, net.JoinHostPort(a.Unmap().String(), port), i == len(addrs)-1)
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// otherTimeout bounds the connection to an address when there are others to try.
const otherTimeout = 4 * time.Second

func (g *guard) try(ctx context.Context, network, address string, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, otherTimeout)
		defer cancel()
	}
	return g.dial(ctx, network, address)
}

func (g *guard) approve(ctx context.Context, host string, a netip.Addr) error {
	there := reachOf(a)
	if there == public {
		return nil
	}
	here, err := g.placed(ctx)
	if err != nil {
		return err
	}
	if there == never || there > here {
		return &Inward{Host: host, Address: a.Unmap(), Server: here}
	}
	return nil
}

// placed says where the configured server is: where all of its addresses are, for
// a name that has a public one besides says nothing of the others. On this machine
// it is by its name alone, because whoever owns another name can have it resolve to
// anything for a moment.
func (g *guard) placed(ctx context.Context) (reach, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known {
		return g.place, nil
	}
	if loopbackName(g.server) {
		g.known, g.place = true, loopback
		return loopback, nil
	}
	addrs, err := lookup(ctx, g.server)
	if err != nil {
		return public, err
	}
	g.place = private
	for _, a := range addrs {
		g.place = min(g.place, reachOf(a))
	}
	g.known = true
	return g.place, nil
}

// lookup resolves a host. A name of this machine is not asked of any resolver.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if loopbackName(host) {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return addrs, err
}
