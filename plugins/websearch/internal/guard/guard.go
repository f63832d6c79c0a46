// Package guard keeps requests for strangers' URLs out of private networks. It
// decides by the address that is about to be connected to, after names were
// resolved and for every redirect anew: what a name resolved to a moment ago says
// nothing. It knows nothing of what is fetched.
package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	// maxRedirects is more than any page needs to be found.
	maxRedirects = 5
	// dialTimeout bounds one connection, TLS included.
	dialTimeout = 10 * time.Second
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
)

// Blocked says that a request would have left the public internet, or was no
// request for a page at all. Nothing was sent there.
type Blocked struct{ Why string }

func (b *Blocked) Error() string { return b.Why }

// Guard is a rule of what may be reached.
type Guard struct {
	allowed []netip.Prefix
}

// New returns the rule that only public addresses are reached, at the ports of the
// web, and besides them whatever is in allowed, at every port.
func New(allowed []netip.Prefix) *Guard { return &Guard{allowed} }

// Client returns a client under the rule. It uses no proxy, which would resolve
// names itself, no cookies and no credentials, and keeps no connections.
func (g *Guard) Client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialTimeout, ControlContext: g.control}).DialContext,
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: maxHeader,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return &Blocked{fmt.Sprintf("more than %d redirects", maxRedirects)}
			}
			req.Header.Del("Referer") // what a caller looks at is nobody's business
			return CheckURL(req.URL)
		},
	}
}

// CheckURL says what is wrong with a URL before its name is resolved; nil or a
// *Blocked.
func CheckURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &Blocked{"only http and https are fetched, not " + strconv.Quote(u.Scheme)}
	case u.Hostname() == "":
		return &Blocked{"the URL has no host"}
	case u.User != nil:
		return &Blocked{"a URL with a user name or a password in it is not fetched"}
	}
	return nil
}

// control runs between the resolution of a name and the connection.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return &Blocked{"the address " + address + " cannot be checked"}
	}
	addr := at.Addr().Unmap()
	if slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return nil
	}
	if !Public(addr) {
		return &Blocked{fmt.Sprintf("the address %s is not a public one: private networks are not fetched from", addr)}
	}
	if !slices.Contains(ports, at.Port()) {
		return &Blocked{fmt.Sprintf("port %d is not one of the web", at.Port())}
	}
	return nil
}

// ports are those of the web: others speak other protocols, which a request can be
// made to look like.
var ports = []uint16{80, 443, 8080, 8443}

// Public says whether addr is a unicast address that the whole internet can reach,
// by the special-purpose registries of IANA (RFC 6890).
func Public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	if nat64.Contains(addr) { // what stands behind counts
		b := addr.As16()
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	}
	if addr.Is6() && !unicast6.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}

var (
	nat64    = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	unicast6 = netip.MustParsePrefix("2000::/3")     // all that is assigned of IPv6
)

var special = prefixes(
	"0.0.0.0/8",        // this network; RFC 791
	"10.0.0.0/8",       // private; RFC 1918
	"100.64.0.0/10",    // carrier-grade NAT; RFC 6598
	"127.0.0.0/8",      // loopback; RFC 1122
	"169.254.0.0/16",   // link-local, where clouds keep credentials; RFC 3927
	"172.16.0.0/12",    // private; RFC 1918
	"192.0.0.0/24",     // protocol assignments; RFC 6890
	"192.0.2.0/24",     // documentation; RFC 5737
	"192.88.99.0/24",   // 6to4 relays; RFC 7526
	"192.168.0.0/16",   // private; RFC 1918
	"198.18.0.0/15",    // benchmarks; RFC 2544
	"198.51.100.0/24",  // documentation; RFC 5737
	"203.0.113.0/24",   // documentation; RFC 5737
	"224.0.0.0/4",      // multicast; RFC 5771
	"240.0.0.0/4",      // reserved, and broadcast; RFC 1112
	"168.63.129.16/32", // the platform of Azure, behind a public address
	"2001::/23",        // protocol assignments, Teredo among them; RFC 2928
	"2001:db8::/32",    // documentation; RFC 3849
	"2002::/16",        // 6to4, which leads to any IPv4 address; RFC 3056
	"3fff::/20",        // documentation; RFC 9637
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// AsBlocked returns the *Blocked in err's chain, nil when there is none.
func AsBlocked(err error) *Blocked {
	b, _ := errors.AsType[*Blocked](err)
	return b
}
