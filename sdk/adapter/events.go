package adapter

import (
	"encoding/json"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// State is how well a server can serve.
type State int

const (
	Connecting  State = iota + 1 // not there yet; calls wait or fail
	Ready                        // serving
	Degraded                     // usable, but something is wrong
	Unavailable                  // calls will fail
)

var stateToProto = map[State]adapterpb.Health_State{
	Connecting:  adapterpb.Health_STATE_CONNECTING,
	Ready:       adapterpb.Health_STATE_READY,
	Degraded:    adapterpb.Health_STATE_DEGRADED,
	Unavailable: adapterpb.Health_STATE_UNAVAILABLE,
}

// maxQueued bounds the events that wait for a host which does not read. Beyond
// it the host gets a snapshot of how things are instead of how they came about.
const maxQueued = 1024

// Events is where a Watcher reports what changed. Its methods return at once and
// may be called from any goroutine. The host sees events in the order of the
// calls. The zero value records the state for a host that has yet to watch.
type Events struct {
	mu       sync.Mutex
	health   *adapterpb.Health
	revision string
	info     json.RawMessage
	methods  []string
	streams  map[*watchStream]struct{}
}

// Health reports the server's state, with the failure that explains Degraded or
// Unavailable; f may be nil.
func (e *Events) Health(s State, f *failure.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.health = &adapterpb.Health{State: stateToProto[s], Failure: failure.ToProto(f)}
	e.publish(&adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_Health{Health: e.health}})
}

// ToolsChanged reports that the list of tools changed: the host lists again.
// Revision is opaque and may be empty.
func (e *Events) ToolsChanged(revision string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.revision = revision
	e.publish(&adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_ToolsChanged{
		ToolsChanged: &adapterpb.ToolsChanged{Revision: revision},
	}})
}

// ServerInfo reports what the upstream says of itself: a JSON object with its
// implementation, capabilities and instructions.
func (e *Events) ServerInfo(raw json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.info = slices.Clone(raw)
	e.publish(e.snapshot())
}

// ForwardMethods reports the MCP methods that Forward accepts from now on.
func (e *Events) ForwardMethods(methods []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.methods = slices.Clone(methods)
	e.publish(e.snapshot())
}

// Forwarded passes on a notification of the upstream that concerns forwarded
// methods: "notifications/resources/updated" with its params.
func (e *Events) Forwarded(notification string, params json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish(&adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_ForwardChanged{
		ForwardChanged: &adapterpb.ForwardChanged{Notification: notification, Params: slices.Clone(params)},
	}})
}

// snapshot is the state as one event. The caller holds mu.
func (e *Events) snapshot() *adapterpb.WatchEvent {
	return &adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_Snapshot{Snapshot: &adapterpb.Snapshot{
		Health: e.health, ToolsRevision: e.revision, ServerInfo: e.info, ForwardMethods: e.methods,
	}}}
}

// publish queues ev for every open stream. The caller holds mu.
func (e *Events) publish(ev *adapterpb.WatchEvent) {
	for s := range e.streams {
		if len(s.queue) >= maxQueued {
			s.queue = append(s.queue[:0:0], e.snapshot(), &adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_ToolsChanged{
				ToolsChanged: &adapterpb.ToolsChanged{Revision: e.revision},
			}})
		} else {
			s.queue = append(s.queue, ev)
		}
		select {
		case s.wake <- struct{}{}:
		default: // it is awake already and will see the queue
		}
	}
}

// offers says whether method was reported as forwardable.
func (e *Events) offers(method string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.methods, method)
}

// listed records the revision that a host has just read.
func (e *Events) listed(revision string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.revision = revision
}

// watchStream is the queue of one open Watch RPC; Events.mu guards it.
type watchStream struct {
	queue []*adapterpb.WatchEvent
	wake  chan struct{}
}

// watch opens a stream whose first event is the snapshot.
func (e *Events) watch() *watchStream {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &watchStream{queue: []*adapterpb.WatchEvent{e.snapshot()}, wake: make(chan struct{}, 1)}
	s.wake <- struct{}{}
	if e.streams == nil {
		e.streams = make(map[*watchStream]struct{})
	}
	e.streams[s] = struct{}{}
	return s
}

// take returns the queued events. They are copies: a snapshot shares the health
// message that later events replace, never change, but marshalling caches sizes
// in a message, so two streams must not share one.
func (e *Events) take(s *watchStream) []*adapterpb.WatchEvent {
	e.mu.Lock()
	defer e.mu.Unlock()
	events := s.queue
	s.queue = nil
	for i, ev := range events {
		events[i] = proto.CloneOf(ev)
	}
	return events
}

func (e *Events) unwatch(s *watchStream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.streams, s)
}
