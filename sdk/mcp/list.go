package mcp

import (
	"context"
	"encoding/json"
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
)

// ListTools returns the tools of all pages, each the exact bytes of its tool
// object, in the server's order. A tool that is no object or has no name is left
// out with a warning, and so is a later one of the same name. The error is a
// *failure.Failure.
func (c *Client) ListTools(ctx context.Context) ([]json.RawMessage, error) {
	l := &toolList{names: map[string]bool{}, cursors: map[string]bool{}}
	var params json.RawMessage
	for began := time.Now(); ; {
		page, f := c.request(ctx, "tools/list", params, RequestOptions{})
		if f != nil {
			return nil, f
		}
		cursor, f := l.add(page)
		if f != nil {
			return nil, f
		}
		if cursor == nil {
			break
		}
		if why := l.over(string(cursor), time.Since(began)); why != "" {
			c.opt.Log.Warn("stopped listing the server's tools", "reason", why, "pages", l.pages, "tools", len(l.tools))
			break
		}
		params = slices.Concat([]byte(`{"cursor":`), cursor, []byte("}"))
	}
	if l.repeated > 0 || l.nameless > 0 {
		c.opt.Log.Warn("left out tools of the server", "name seen before", l.repeated, "without a name", l.nameless)
	}
	return l.tools, nil
}

type toolList struct {
	tools   []json.RawMessage
	names   map[string]bool
	cursors map[string]bool
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
		case len(l.tools) < maxTools:
			l.names[name] = true
			l.tools = append(l.tools, tool)
		}
	})
	cursor = member(page, "nextCursor")
	if s, ok := text(cursor); !ok || s == "" {
		return nil, nil // null and "" end the list, too
	}
	return cursor, nil
}

// over says why the list must stop, or "".
func (l *toolList) over(cursor string, took time.Duration) string {
	switch {
	case l.cursors[cursor]:
		return "it repeated a cursor"
	case l.pages >= maxPages:
		return "too many pages"
	case len(l.tools) >= maxTools:
		return "too many tools"
	case l.bytes >= maxListed:
		return "the list is too large"
	case took >= maxListTime:
		return "it took too long"
	}
	l.cursors[cursor] = true
	return ""
}
