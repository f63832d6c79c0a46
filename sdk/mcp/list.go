package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// A server may page for ever, so the list stops at the first of these, with a
// warning, and holds what came until then.
const (
	maxPages    = 500
	maxTools    = 10000
	maxListed   = wire.MaxLine // bytes of all pages: what a server of one page could send
	maxListTime = time.Minute  // checked between pages; each page is bounded by ctx
	maxTTL      = 365 * 24 * time.Hour
)

// ToolList is a server's list of tools.
type ToolList struct {
	// Tools are the exact bytes of each tool object, in the server's order.
	Tools []json.RawMessage
	// TTL is how long the server says that the list stays fresh (2026-07-28,
	// ttlMs), the least of its pages; 0 is no time at all. Only HasTTL says that it
	// said so. A notification that the list changed ends it early.
	TTL    time.Duration
	HasTTL bool
	// Scope is the server's cacheScope: "public", or "private" for a list that must
	// not be shown to other users; "" when no page has one. One private page makes
	// the list private.
	Scope string
}

// ListTools returns the tools of ReadTools.
func (c *Client) ListTools(ctx context.Context) ([]json.RawMessage, error) {
	l, err := c.ReadTools(ctx)
	return l.Tools, err
}

// ReadTools returns the tools of all pages. A tool that is no object or has no
// name is left out with a warning, and so is a later one of the same name. Over
// HTTP a server of 2026-07-28 may want arguments repeated in headers: a tool whose
// annotations for that break the rules is left out, too, and what the others want
// is remembered for CallTool. The error is a *failure.Failure.
func (c *Client) ReadTools(ctx context.Context) (ToolList, error) {
	l := &toolList{names: map[string]bool{}, cursors: map[string]bool{}, log: c.opt.Log}
	if c.params != nil && c.server.Load().Modern {
		l.headers = map[string][]paramHeader{}
	}
	var params json.RawMessage
	for began := time.Now(); ; {
		page, f := c.request(ctx, "tools/list", params, RequestOptions{})
		if f != nil {
			return ToolList{}, f
		}
		cursor, f := l.add(page)
		if f != nil {
			return ToolList{}, f
		}
		if cursor == nil {
			break
		}
		if why := l.over(string(cursor), time.Since(began)); why != "" {
			c.opt.Log.Warn("stopped listing the server's tools", "reason", why, "pages", l.pages, "tools", len(l.Tools))
			break
		}
		params = slices.Concat([]byte(`{"cursor":`), cursor, []byte("}"))
	}
	if l.repeated > 0 || l.nameless > 0 {
		c.opt.Log.Warn("left out tools of the server", "name seen before", l.repeated, "without a name", l.nameless)
	}
	if l.headers != nil {
		c.params.replace(l.headers)
	}
	return l.ToolList, nil
}

type toolList struct {
	ToolList
	log     *slog.Logger
	names   map[string]bool
	cursors map[string]bool
	headers map[string][]paramHeader // nil where tools want none
	pages   int
	bytes   int

	repeated, nameless int
}

// add takes one page and returns the cursor of the next one as written, nil
// after the last.
func (l *toolList) add(page json.RawMessage) (cursor []byte, f *failure.Failure) {
	l.pages++
	l.bytes += len(page)
	tools := member(page, "tools")
	if len(tools) == 0 || tools[0] != '[' {
		return nil, invalidAnswer("the server's answer to tools/list has no list of tools: %s", quote(page))
	}
	eachElement(tools, 0, 0, func(tool []byte) {
		name, ok := text(member(tool, "name"))
		switch {
		case !ok || name == "":
			l.nameless++
		case l.names[name]:
			l.repeated++
		case len(l.Tools) < maxTools:
			l.names[name] = true
			if l.annotate(name, tool) {
				l.Tools = append(l.Tools, tool)
			}
		}
	})
	l.freshness(page)
	cursor = member(page, "nextCursor")
	if s, ok := text(cursor); !ok || s == "" {
		return nil, nil // null and "" end the list, too
	}
	return cursor, nil
}

// annotate notes what a tool wants in headers, and says whether that is allowed.
func (l *toolList) annotate(name string, tool []byte) bool {
	if l.headers == nil {
		return true
	}
	headers, err := headersOf(tool)
	if err != nil {
		l.log.Warn("left out a tool of the server with an invalid header annotation", "tool", name, "reason", err)
		return false
	}
	if headers != nil {
		l.headers[name] = headers
	}
	return true
}

// freshness takes what a page says of its own age.
func (l *toolList) freshness(page []byte) {
	if ms, ok := number(member(page, "ttlMs")); ok && ms >= 0 {
		ttl := time.Duration(min(ms, maxTTL.Seconds()*1e3) * 1e6)
		if !l.HasTTL || ttl < l.TTL {
			l.TTL = ttl
		}
		l.HasTTL = true
	}
	if scope, _ := text(member(page, "cacheScope")); scope == "private" || scope == "public" && l.Scope == "" {
		l.Scope = scope
	}
}

// over says why the list must stop, or "".
func (l *toolList) over(cursor string, took time.Duration) string {
	switch {
	case l.cursors[cursor]:
		return "it repeated a cursor"
	case l.pages >= maxPages:
		return "too many pages"
	case len(l.Tools) >= maxTools:
		return "too many tools"
	case l.bytes >= maxListed:
		return "the list is too large"
	case took >= maxListTime:
		return "it took too long"
	}
	l.cursors[cursor] = true
	return ""
}
