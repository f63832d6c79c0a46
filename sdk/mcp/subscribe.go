package mcp

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// relistenDelay is the first pause before a subscription that ended is asked
	// for again; it doubles up to maxRelistenDelay, and starts over after one that
	// lasted.
	relistenDelay    = time.Second
	maxRelistenDelay = time.Minute
)

// kinds are the lists of which a server can say that they changed: capability,
// member of the filter, notification (2026-07-28, Subscriptions).
var kinds = []struct{ capability, filter, notification string }{
	{"tools", "toolsListChanged", "notifications/tools/list_changed"},
	{"prompts", "promptsListChanged", "notifications/prompts/list_changed"},
	{"resources", "resourcesListChanged", "notifications/resources/list_changed"},
}

// changed tells of every list the server has, because nobody knows what became of
// them.
func (c *Client) changed() {
	capabilities := c.server.Load().Capabilities
	for _, k := range kinds {
		if member(capabilities, k.capability) != nil {
			c.session.tell(k.notification, nil)
		}
	}
}

// tells says whether the server tells of changes only where the client subscribes,
// and somebody wants to know.
func (c *Client) tells() bool { return c.server.Load().Modern && c.opt.OnNotification != nil }

// subscribe makes a modern server tell of changed lists, if anybody wants to
// know. It runs beside the calls until the connection ends and asks again after
// every loss.
func (c *Client) subscribe() {
	server := c.server.Load()
	if !c.tells() {
		return
	}
	var filter []byte
	for _, k := range kinds {
		// Servers may tell of what they never said they would; the acknowledgement
		// says what they mean.
		if member(server.Capabilities, k.capability) != nil {
			if filter != nil {
				filter = append(filter, ',')
			}
			filter = append(filter, `"`+k.filter+`":true`...)
		}
	}
	if filter == nil || !c.subscribed.CompareAndSwap(false, true) {
		return
	}
	c.work.Go(func() { c.listen(filter) })
}

// listen keeps a subscription open until the connection ends or the server turns
// out to have none.
func (c *Client) listen(filter []byte) {
	over := func() { c.subscribed.Store(false) }
	known := false // the server has acknowledged one
	// One ended without our doing, acknowledged or not: what changed since, nobody told.
	// A server that was replaced before it could acknowledge the first may have other lists.
	lost := false
	for delay := relistenDelay; ; delay = min(2*delay, maxRelistenDelay) {
		turn, renew := context.WithCancel(c.base)
		uris, version := c.watched.begin(renew)
		began := time.Now()
		acknowledged, f := c.listenOnce(turn, filter, uris, version, lost)
		known = known || acknowledged == granted
		none := ""
		switch {
		case c.base.Err() != nil:
		case acknowledged == nothingGranted:
			none = "the server tells of no changed lists"
		case acknowledged == granted:
			if time.Since(began) > delay {
				delay = relistenDelay
			}
		case f == nil, f.Delivery == failure.Answered && f.Class != failure.RateLimited:
			if f == nil {
				f = invalidAnswer("the server ended subscriptions/listen without an acknowledgement")
			}
			c.watched.answered(version, nil, f)
			if !known {
				none = "the server has no subscriptions"
			}
		}
		if none != "" && c.watched.end(version, over) {
			c.opt.Log.Debug(none, "reason", f)
			renew()
			return
		}
		wait := delay*8/10 + rand.N(delay*4/10) // so that not all clients of a server come back at once
		if f != nil {
			wait = max(wait, min(f.RetryAfter, maxRelistenDelay))
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
			lost = true
		case <-turn.Done():
			pause.Stop()
			delay, lost = relistenDelay/2, lost && acknowledged != granted
		}
		renew()
		if c.base.Err() != nil {
			over()
			return
		}
	}
}

// What a server acknowledged of a filter.
const (
	notAcknowledged = iota
	granted
	nothingGranted
)

// listenOnce asks for one subscription, to the lists of filter and to resources,
// and returns at its end. again says that there was one before: what changed in
// between, nobody told.
func (c *Client) listenOnce(ctx context.Context, filter []byte, uris []string, version int, again bool) (acknowledged int32, f *failure.Failure) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if len(uris) > 0 {
		filter = append(append(slices.Clip(filter), `,"`+resourceFilter+`":`...), appendStrings(nil, uris)...)
	}
	var state atomic.Int32
	_, f = c.link.do(ctx, request{
		method: "subscriptions/listen",
		size:   len(filter) + metaSize + len(c.opt.Capabilities),
		acknowledged: func(params json.RawMessage) {
			grants := member(params, "notifications")
			state.Store(nothingGranted)
			for _, k := range kinds {
				if grants != nil && string(member(grants, k.filter)) != "true" {
					continue
				}
				state.Store(granted)
				if again && grants != nil {
					c.session.tell(k.notification, nil)
				}
			}
			tells := grantedResources(grants)
			for _, uri := range uris {
				if !tells(uri) {
					continue
				}
				state.Store(granted)
				if again {
					c.session.tell("notifications/resources/updated", json.RawMessage(`{"uri":`+string(appendString(nil, uri))+`}`))
				}
			}
			c.watched.answered(version, tells, nil)
			if state.Load() == nothingGranted {
				cancel()
			}
		},
		write: func(b []byte, _ uint64) []byte {
			b = append(b, `{"notifications":{`...)
			b = append(b, filter...)
			b = append(b, `},"_meta":{`...)
			b = c.appendModern(b, c.server.Load().ProtocolVersion, nil)
			return append(b, "}}"...)
		},
	})
	return state.Load(), f
}
