package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// modernVersion is the one version of the server/discover era we speak.
const modernVersion = "2026-07-28"

// legacyVersions are those of the initialize era, newest first; the first is
// offered.
var legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Versions returns the protocol versions this package speaks, newest first.
func Versions() []string { return append([]string{modernVersion}, legacyVersions...) }

// handshake finds out the server's era (2026-07-28, stdio, Backward
// Compatibility): a DiscoverResult or UnsupportedProtocolVersionError means
// modern; any other answer, or none within the probe's own time, means
// initialize. A server that refuses initialize, or answers it with a modern
// version, without having answered a probe is asked once more: it was too slow for
// the probe, or is remembered wrongly.
func (c *Client) handshake(ctx context.Context, probe bool) *failure.Failure {
	answered := false
	if probe {
		era, f := c.discover(ctx, c.opt.ProbeTimeout)
		if era == eraModern || f != nil {
			return f
		}
		answered = era == eraLegacy
	}
	f := c.initialize(ctx)
	if f != nil && f.Delivery == failure.Answered && !answered {
		// By now the server is up.
		if era, again := c.discover(ctx, max(c.opt.ProbeTimeout, defaultProbeTimeout)); era == eraModern && again == nil {
			return nil
		}
	}
	return f
}

// era is what a probe found.
type era int

const (
	eraUnknown era = iota // no answer
	eraLegacy             // an answer no modern server gives
	eraModern
)

// discover asks a server of the modern era for itself and waits at most timeout.
func (c *Client) discover(ctx context.Context, timeout time.Duration) (era, *failure.Failure) {
	probe, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	raw, f := c.link.do(probe, request{
		method:       "server/discover",
		opening:      modernVersion,
		uncancelable: true, // an old server must not be puzzled twice
		size:         metaSize + len(c.opt.Capabilities),
		write: func(b []byte, _ uint64) []byte {
			b = append(b, `{"_meta":{`...)
			b = c.appendModern(b, modernVersion, nil)
			return append(b, "}}"...)
		},
	})
	switch {
	case f == nil:
		return c.discovered(ctx, raw, member(raw, "supportedVersions"))
	case f.UpstreamCode == codeUnsupportedVersion:
		return c.discovered(ctx, nil, member(f.UpstreamData, "supported"))
	case f.UpstreamCode == codeHeaderMismatch, f.UpstreamCode == codeMissingCapability:
		return eraModern, f // only modern servers say that
	case f.Class == failure.RateLimited, f.Class == failure.AuthFailure && f.UpstreamCode == http.StatusUnauthorized:
		return eraUnknown, f // of either era; the next request would hear the same
	case f.Delivery == failure.Answered:
		return eraLegacy, nil
	case f.Class == failure.Timeout && ctx.Err() == nil:
		c.opt.Log.Debug("the server did not answer the probe; trying initialize", "timeout", timeout)
		return eraUnknown, nil
	}
	return eraUnknown, f
}

// discovered chooses from the versions a server says it speaks. What is no list
// of versions is no DiscoverResult.
func (c *Client) discovered(ctx context.Context, raw json.RawMessage, versions []byte) (era, *failure.Failure) {
	if len(versions) == 0 || versions[0] != '[' {
		return eraLegacy, nil
	}
	var spoken []string
	eachElement(versions, 0, 0, func(v []byte) {
		if s, ok := text(v); ok {
			spoken = append(spoken, s)
		}
	})
	switch {
	case slices.Contains(spoken, modernVersion):
	case len(spoken) == 0, slices.ContainsFunc(spoken, func(v string) bool { return slices.Contains(legacyVersions, v) }):
		return eraLegacy, nil
	default:
		return eraModern, versionFailure(quote([]byte(strings.Join(spoken, ", "))))
	}
	server := ServerInfo{ProtocolVersion: modernVersion, Modern: true}
	server.describe(raw, member(member(raw, "_meta"), metaPrefix+"serverInfo"))
	return eraModern, c.meet(ctx, server)
}

// initialize is the handshake of 2024-11-05 to 2025-11-25.
func (c *Client) initialize(ctx context.Context) *failure.Failure {
	raw, f := c.link.do(ctx, request{
		method:       "initialize",
		opening:      legacyVersions[0],
		uncancelable: true,
		size:         metaSize + len(c.opt.Capabilities),
		write: func(b []byte, _ uint64) []byte {
			b = append(b, `{"protocolVersion":"`+legacyVersions[0]+`","capabilities":`...)
			b = append(b, oneLine(c.opt.Capabilities)...)
			b = append(b, `,"clientInfo":`...)
			return append(c.opt.ClientInfo.append(b), '}')
		},
	})
	if f != nil {
		if f.Class == failure.ServerError {
			f.Message = "the server refused to initialize: " + f.Message
		}
		return f
	}
	spoken := member(raw, "protocolVersion")
	version, ok := text(spoken)
	if !ok || !slices.Contains(legacyVersions, version) {
		if spoken == nil {
			return invalidAnswer("the server's answer to initialize names no protocol version")
		}
		return versionFailure(spell(spoken))
	}
	server := ServerInfo{ProtocolVersion: version}
	server.describe(raw, member(raw, "serverInfo"))
	return c.meet(ctx, server)
}

// meet settles what the server is.
func (c *Client) meet(ctx context.Context, server ServerInfo) *failure.Failure {
	c.server.Store(&server)
	return c.link.established(ctx, server)
}

func (s *ServerInfo) describe(raw json.RawMessage, info []byte) {
	s.Raw, s.Info = raw, info
	s.Capabilities = member(raw, "capabilities")
	s.Instructions, _ = text(member(raw, "instructions"))
}

func versionFailure(theirs string) *failure.Failure {
	return invalidAnswer("the server speaks protocol version %s; this client speaks %s", theirs, strings.Join(Versions(), ", "))
}

// diedProbing says whether the process ended before its era was settled. An end
// with a cause of ours, such as unreadable output, would only come again.
func (c *Client) diedProbing(f *failure.Failure) bool {
	return c.server.Load().ProtocolVersion == "" && f.Class == failure.ConnectionRefused && f.Err == nil
}

// startFailure is f as the reason why a server could not be started; junk says
// that it printed nothing that can be understood, if so.
func startFailure(f *failure.Failure, lastWords, junk string) *failure.Failure {
	g := *f
	if g.Delivery != failure.Answered {
		g.Delivery = failure.NotSent // no tool was called
	}
	switch {
	case g.Class == failure.Timeout && junk != "":
		g.Message = "the server did not finish its handshake in time" + junk + lastWords
	case g.Class == failure.Timeout:
		g.Message = "the server did not finish its handshake in time" + lastWords +
			"; a package runner (npx, uvx) may still be downloading: a longer start_timeout helps"
	case g.Class == failure.ConnectionRefused:
		g.Message += junk
	}
	return &g
}
