package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
)

const (
	updated        = "notifications/resources/updated"
	acknowledged   = "notifications/subscriptions/acknowledged"
	subscriptionID = metaPrefix + "subscriptionId"
)

// listener is somebody whom Notify speaks to: a legacy client, or a subscription
// of a modern one.
type listener struct {
	caller *Caller
	client *client // a legacy one; nil for a subscription
	id     []byte  // the subscription's; nil for a legacy client
	wants  func(method, uri string) bool
	send   func(message []byte) // never blocks

	mu   sync.Mutex // held while send runs
	gone bool
}

// who is the listener as its credential's rights are known now.
func (l *listener) who() *Caller {
	if l.client != nil {
		return l.client.now.Load()
	}
	return l.caller
}

func (l *listener) tell(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		l.send(message)
	}
}

// Notify tells every client that wants to know. params is a JSON object or nil. keep
// says for each of them whether it is concerned; nil is all. It never blocks: a
// client that does not read loses notifications.
//
// Legacy clients are told of everything, but of notifications/resources/updated only
// for resources they watch; modern ones of what they subscribed to.
func (s *Server) Notify(method string, params json.RawMessage, keep func(*Caller) bool) {
	if checkObject("params", params) != nil {
		return
	}
	uri := ""
	if method == updated {
		uri, _ = text(member(trim(params), "uri"))
	}
	s.mu.Lock()
	concerned := make([]*listener, 0, len(s.audience))
	for l := range s.audience {
		concerned = append(concerned, l)
	}
	s.mu.Unlock()
	var plain []byte
	for _, l := range concerned {
		if !l.wants(method, uri) || keep != nil && !keep(l.who()) {
			continue
		}
		if l.id != nil {
			l.tell(notification(method, params, l.id))
			continue
		}
		if plain == nil {
			plain = notification(method, params, nil)
		}
		l.tell(plain)
	}
}

// notification writes a notification; subscription, if any, is named in its _meta.
func notification(method string, params json.RawMessage, subscription []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","method":`), appendString(nil, method)...)
	switch {
	case subscription != nil:
		b = append(b, `,"params":{`...)
		params = trim(params)
		b, comma := appendMembers(b, params, false, func(name []byte) bool { return sameName(name, "_meta") })
		if comma {
			b = append(b, ',')
		}
		b = append(append(append(b, `"_meta":{"`...), subscriptionID...), `":`...)
		b = append(b, oneLine(subscription)...)
		if meta := member(params, "_meta"); isObject(meta) {
			b, _ = appendMembers(b, meta, true, func(name []byte) bool { return sameName(name, subscriptionID) })
		}
		return append(b, "}}}\n"...)
	case params != nil:
		b = append(append(b, `,"params":`...), oneLine(params)...)
	}
	return append(b, '}', '\n')
}

func (s *Server) attend(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audience[l] = struct{}{}
}

// dismiss ends it: from now on nothing is sent.
func (s *Server) dismiss(l *listener) {
	s.mu.Lock()
	delete(s.audience, l)
	s.mu.Unlock()
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
}

// listen makes c the client of all notifications that belong to no request.
func (c *client) listen(send func([]byte)) *listener {
	return &listener{client: c, send: send, wants: func(method, uri string) bool {
		return method != updated || c.watches(uri)
	}}
}

// subscription is one subscriptions/listen.
type subscription struct {
	listener
	granted  []byte // the acknowledged filter
	lists    []string
	uris     []string
	releases []func()
}

// subscribe grants what a subscriptions/listen asks for, as far as the server says
// that it has it.
func (s *Server) subscribe(ctx context.Context, d *demand, send func([]byte)) (*subscription, error) {
	filter := member(d.params, "notifications")
	if !isObject(filter) {
		return nil, &WireError{Code: codeInvalidParams, Message: "Invalid params: notifications is missing"}
	}
	description := s.handler.Describe(ctx, d.caller)
	u := &subscription{listener: listener{caller: d.caller, id: d.id, send: send}, granted: []byte{'{'}}
	u.wants = func(method, uri string) bool {
		if method == updated {
			return slices.Contains(u.uris, uri)
		}
		return slices.Contains(u.lists, method)
	}
	capabilities := trim(description.capabilities())
	for _, k := range kinds {
		if string(member(filter, k.filter)) == "true" && string(member(member(capabilities, k.capability), "listChanged")) == "true" {
			u.grant(`"` + k.filter + `":true`)
			u.lists = append(u.lists, k.notification)
		}
	}
	if uris := member(filter, "resourceSubscriptions"); len(uris) > 0 && uris[0] == '[' && s.watcher != nil {
		if err := s.watchAll(ctx, u, uris); err != nil {
			u.release()
			return nil, err
		}
	}
	u.granted = append(u.granted, '}')
	return u, nil
}

func (u *subscription) grant(member string) {
	if len(u.granted) > 1 {
		u.granted = append(u.granted, ',')
	}
	u.granted = append(u.granted, member...)
}

func (s *Server) watchAll(ctx context.Context, u *subscription, uris []byte) error {
	var asked []string
	eachElement(uris, 0, 0, func(v []byte) {
		if uri, ok := text(v); ok && len(asked) < maxWatched && !slices.Contains(asked, uri) {
			asked = append(asked, uri)
		}
	})
	list := []byte{'['}
	for _, uri := range asked {
		if len(uri) > maxURI {
			return errLongURI
		}
		release, err := s.watcher.Watch(ctx, u.caller, uri)
		if err != nil {
			return err
		}
		u.releases = append(u.releases, release)
		u.uris = append(u.uris, uri)
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = appendString(list, uri)
	}
	if len(u.uris) > 0 {
		u.grant(`"resourceSubscriptions":` + string(list) + `]`)
	}
	return nil
}

func (u *subscription) release() {
	for _, release := range u.releases {
		release()
	}
}

// follow tells the client of changes until ctx ends or until says so, and returns the
// result of its subscriptions/listen.
func (s *Server) follow(ctx context.Context, u *subscription, until <-chan struct{}) json.RawMessage {
	defer u.release()
	// Nothing that changes from now on is missed, nor told before the acknowledgement.
	u.mu.Lock()
	s.attend(&u.listener)
	u.send(notification(acknowledged, json.RawMessage(`{"notifications":`+string(u.granted)+`}`), u.id))
	u.mu.Unlock()
	if len(u.lists)+len(u.uris) > 0 {
		select {
		case <-ctx.Done():
		case <-until:
		}
	}
	s.dismiss(&u.listener)
	return json.RawMessage(`{"_meta":{"` + subscriptionID + `":` + string(oneLine(u.id)) + `}}`)
}
