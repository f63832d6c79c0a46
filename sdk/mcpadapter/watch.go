package mcpadapter

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

const (
	// debounce is how long the first word of a changed list waits for more: servers
	// announce each tool they register.
	debounce = 200 * time.Millisecond
	// relistTimeout bounds a listing that nobody waits for.
	relistTimeout = 30 * time.Second
)

// events is what an adapter reports to; *adapter.Events is it.
type events interface {
	Health(adapter.State, *failure.Failure)
	ToolsChanged(revision string)
	ServerInfo(json.RawMessage)
	ForwardMethods([]string)
	Forwarded(notification string, params json.RawMessage)
}

// Watch implements adapter.Watcher.
func (s *server) Watch(ctx context.Context, ev *adapter.Events) error {
	return s.news.publish(ctx, ev)
}

// bulletin holds what the host should know and hands it to whoever watches.
type bulletin struct {
	// wanted is set once somebody asked for the tools: before, a change of them is
	// news to nobody and not worth a listing.
	wanted atomic.Bool

	mu       sync.Mutex
	to       events // nil while nobody watches
	state    adapter.State
	why      *failure.Failure
	info     json.RawMessage
	methods  []string
	revision string    // of the list last read; "" before
	due      time.Time // when that list is due again; zero is never
}

// publish reports how things are, and what changes from now until ctx ends.
func (b *bulletin) publish(ctx context.Context, to events) error {
	b.mu.Lock()
	b.to = to
	if b.info != nil {
		to.ServerInfo(b.info)
		to.ForwardMethods(b.methods)
	}
	to.Health(b.state, b.why)
	b.mu.Unlock()

	<-ctx.Done()
	b.mu.Lock()
	b.to = nil
	b.mu.Unlock()
	return nil
}

// connecting, connected and disconnected implement observer.
func (s *server) connecting() { s.news.health(adapter.Connecting, nil) }

func (s *server) connected(up Upstream) {
	info := up.Server()
	s.news.met(describe(info), forwardable(info.Capabilities))
	s.news.health(adapter.Ready, nil)
	if s.news.wasListed() {
		s.listAgain() // a server that was started again may offer other tools
	}
	if uris := s.resources.all(); len(uris) > 0 {
		s.link.work.Go(func() { s.resubscribe(up, uris) })
	}
}

func (s *server) disconnected(why *failure.Failure) {
	state := adapter.Unavailable
	if s.shape.Alone {
		state = adapter.Degraded
	}
	s.news.health(state, why)
}

func (b *bulletin) health(state adapter.State, why *failure.Failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report(state, why)
}

// report is health for who holds mu.
func (b *bulletin) report(state adapter.State, why *failure.Failure) {
	b.state, b.why = state, why
	if b.to != nil {
		b.to.Health(state, why)
	}
}

// met records what the upstream says of itself.
func (b *bulletin) met(info json.RawMessage, methods []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.info, b.methods = info, methods
	if b.to != nil {
		b.to.ServerInfo(info)
		b.to.ForwardMethods(methods)
	}
}

// degraded records that the upstream, ready until now, could not be reached.
func (b *bulletin) degraded(why *failure.Failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == adapter.Ready {
		b.report(adapter.Degraded, why)
	}
}

// recovered records that the upstream was reached, and says whether that is news.
func (b *bulletin) recovered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != adapter.Degraded {
		return false
	}
	b.report(adapter.Ready, nil)
	return true
}

// listed records a list that the host is about to receive.
func (b *bulletin) listed(l *list) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revision, b.due = l.revision, l.due
}

// stale says, once, whether the list last read has outlived the upstream's word.
func (b *bulletin) stale(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.due.IsZero() || now.Before(b.due) {
		return false
	}
	b.due = now.Add(leastTTL) // should the listing to come fail
	return true
}

func (b *bulletin) wasListed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.revision != ""
}

// relisted announces a list that differs from the one last read.
func (b *bulletin) relisted(l *list) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due = l.due
	if l.revision == b.revision {
		return
	}
	b.revision = l.revision
	if b.to != nil {
		b.to.ToolsChanged(l.revision)
	}
}

func (b *bulletin) forwarded(method string, params json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.to != nil {
		b.to.Forwarded(method, params)
	}
}

// heard takes note of how a request to the upstream ended. One that is reached over
// the network lives on while it cannot be; one that ended is its keeper's news.
func (s *server) heard(up Upstream, err error) {
	f := failure.Classify(err)
	switch {
	case f == nil || f.Delivery == failure.Answered:
		if s.news.recovered() && s.news.wasListed() {
			s.listAgain() // whoever started it again may have changed it
		}
	case f.Class == failure.ConnectionRefused || f.Class == failure.DNSFailure:
		if s.link.current() == up {
			s.news.degraded(f)
		}
	}
}

// notified takes the upstream's notifications; it does not block.
func (s *server) notified(method string, params json.RawMessage) {
	switch {
	case method == "notifications/tools/list_changed":
		s.listAgain()
	case method == logging:
		s.logged(params)
	case strings.HasPrefix(method, "notifications/resources/"), strings.HasPrefix(method, "notifications/prompts/"):
		s.news.forwarded(method, params)
	default:
		s.env.Log.Debug("ignored a notification of the upstream", "method", method)
	}
}

func (s *server) listAgain() {
	select {
	case s.relist <- struct{}{}:
	default: // it is due already
	}
}

// watchTools lists again after the upstream said that its tools changed, or once
// they may have, and announces it when they did. It runs until the adapter closes.
func (s *server) watchTools() {
	for {
		select {
		case <-s.relist:
		case <-s.link.base.Done():
			return
		}
		if !s.news.wanted.Load() {
			continue
		}
		select {
		case <-time.After(debounce):
		case <-s.link.base.Done():
			return
		}
		select {
		case <-s.relist: // what came meanwhile is covered by the listing to come
		default:
		}
		s.readTools()
	}
}

func (s *server) readTools() {
	up := s.link.current()
	if up == nil {
		return // whoever connects next lists, or connected asks for it
	}
	ctx, cancel := context.WithTimeout(s.link.base, relistTimeout)
	defer cancel()
	l, err := s.list(ctx, up)
	if err != nil {
		s.env.Log.Warn("could not list the tools that may have changed", "error", err)
		return
	}
	s.news.relisted(l)
}

// revision identifies a list by its content, so that a server which announces
// changes without making any costs its host nothing.
func revision(tools []adapter.Tool) string {
	h := sha256.New()
	for _, t := range tools {
		h.Write(t.Definition)
		h.Write([]byte{'\n'}) // cannot be confused: outside strings it is white space, inside it is escaped
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// describe is what the upstream said of itself in the shape of an
// InitializeResult, whichever era it is of.
func describe(info mcp.ServerInfo) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		ProtocolVersion string          `json:"protocolVersion,omitempty"`
		ServerInfo      json.RawMessage `json:"serverInfo,omitempty"`
		Capabilities    json.RawMessage `json:"capabilities,omitempty"`
		Instructions    string          `json:"instructions,omitempty"`
	}{info.ProtocolVersion, info.Info, info.Capabilities, info.Instructions})
	if err != nil { // raw members that are no JSON: an Upstream that is not ours
		return json.RawMessage("{}")
	}
	return bytes.TrimSpace(b.Bytes())
}
