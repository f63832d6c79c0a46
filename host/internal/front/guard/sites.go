package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// sites are the names this server goes by, and the web pages that may use it. A
// browser sends both truthfully: a page whose own name was made to point at this
// computer (DNS rebinding) gives itself away by them.
type sites struct {
	hosts   map[site]bool
	origins map[string]bool // as a browser writes them: scheme://name, with a port unless it is the scheme's
}

// site is a host and port as a Host header or an origin names it.
type site struct{ name, port string }

func newSites(hosts, origins []string) (sites, error) {
	s := sites{hosts: map[site]bool{}, origins: map[string]bool{}}
	for _, h := range hosts {
		at, ok := parseSite(h, "")
		if !ok {
			return s, fmt.Errorf("%q is no host that could be allowed: write a name as it stands in URLs, with its port unless that is 80 or 443 (mcp.example.com, 192.168.1.5:8080); there are no patterns", h)
		}
		if at.port != "" {
			s.hosts[at] = true
			continue
		}
		s.hosts[site{at.name, "80"}], s.hosts[site{at.name, "443"}] = true, true
	}
	for _, o := range origins {
		scheme, at, ok := parseOrigin(o)
		if !ok {
			return s, fmt.Errorf("%q is no origin that could be allowed: write scheme and host of the page without a path (https://app.example.com, http://localhost:6274); there are no patterns, and null is nobody in particular", o)
		}
		s.origins[scheme+"://"+at.String()] = true
	}
	return s, nil
}

func (s site) String() string { return s.name + ":" + s.port }

// check returns why the request is not let through, or nil.
func (s *sites) check(r *http.Request) *denial {
	unsaid := "80"
	if r.TLS != nil {
		unsaid = "443"
	}
	here := localAddr(r)
	at, ok := parseSite(r.Host, unsaid)
	if !ok || !s.known(at, here) {
		return &denial{status: http.StatusForbidden, reason: BadHost,
			message: "This server does not go by the name in the Host header. If it should, add the name to its allowed hosts.",
			detail:  []any{"host", excerpt(r.Host)}}
	}
	bad := func(origin string) *denial {
		return &denial{status: http.StatusForbidden, reason: BadOrigin,
			message: "Web pages of this origin may not use this server. If they should, add the origin to its allowed origins.",
			detail:  []any{"origin", excerpt(origin)}}
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		// Browsers leave Origin out of some requests, an image's for instance, but
		// not this header.
		if from := r.Header.Get("Sec-Fetch-Site"); from == "cross-site" || from == "same-site" {
			return bad("none, Sec-Fetch-Site: " + from)
		}
		return nil
	}
	scheme, page, ok := parseOrigin(origins[0])
	ours := web[scheme] != "" && s.known(page, here)
	if len(origins) > 1 || !ok || !ours && !s.origins[scheme+"://"+page.String()] {
		return bad(strings.Join(origins, ", "))
	}
	return nil
}

// known reports whether at is this server: by its options, or because the
// connection came to that very address.
func (s *sites) known(at site, here netip.AddrPort) bool {
	if s.hosts[at] {
		return true
	}
	if !here.IsValid() || at.port != strconv.Itoa(int(here.Port())) {
		return false
	}
	if here.Addr().IsLoopback() && (at.name == "localhost" || at.name == "127.0.0.1" || at.name == "::1") {
		return true
	}
	ip, err := netip.ParseAddr(at.name)
	return err == nil && ip == here.Addr()
}

// cors answers a browser's question whether a page of an allowed origin may send a
// request, and adds what lets the page read the answer. Nothing but the options
// goes into it. There is never a wildcard.
func (s *sites) cors(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	scheme, page, ok := parseOrigin(origin)
	if !ok || !s.origins[scheme+"://"+page.String()] {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if names := r.Header.Get("Access-Control-Request-Headers"); headerNames(names) {
		h.Set("Access-Control-Allow-Headers", names) // which ones a client needs depends on its tools (Mcp-Param-*)
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// headerNames reports whether s is a list of header names, of a sensible length.
func headerNames(s string) bool {
	if s == "" || len(s) > 4096 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !alphanumeric(c) && c != '-' && c != '_' && c != ',' && c != ' ' {
			return false
		}
	}
	return true
}

// localAddr is the address the request's connection came to; not valid when that
// is not known, which counts as somewhere else than this computer.
func localAddr(r *http.Request) netip.AddrPort {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// parseSite reads a Host header's value; unsaid is the port of one without.
func parseSite(s, unsaid string) (site, bool) {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' || port[0] == '+' {
			return site{}, false
		}
	}
	if port == "" {
		port = unsaid
	}
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !closed || err != nil || !ip.Is6() || ip.Zone() != "" {
			return site{}, false
		}
		return site{ip.Unmap().String(), port}, true
	}
	if host == "" || len(host) > 253 {
		return site{}, false
	}
	for i := range len(host) {
		if c := host[i]; !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return site{}, false
		}
	}
	return site{strings.ToLower(host), port}, true
}

// web are the schemes of pages that a server may be itself, with their ports.
var web = map[string]string{"http": "80", "https": "443"}

// parseOrigin reads an Origin header's value (RFC 6454 section 7): one origin,
// nothing behind it. Those of extensions and desktop programs have schemes of their
// own (chrome-extension://id, vscode-webview://id).
func parseOrigin(s string) (scheme string, at site, ok bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || len(scheme) > 50 {
		return "", site{}, false
	}
	for i := range len(scheme) {
		if c := scheme[i]; !('a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '-' || c == '+' || c == '.')) {
			return "", site{}, false
		}
	}
	at, ok = parseSite(rest, web[scheme])
	return scheme, at, ok
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
