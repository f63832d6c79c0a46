package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// askWait is how long the host may take to answer us.
const askWait = 5 * time.Second

// ask sends a request to the host and returns what came back as text. Without an
// id it gets a new one.
func (s *server) ask(to sink, id, method string, params json.RawMessage) string {
	waiting := make(chan []byte, 1)
	s.asking.Lock()
	s.asks++
	if id == "" {
		id = fmt.Sprintf(`"srv-%d"`, s.asks)
	}
	s.asked[id] = waiting
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	s.asking.Unlock()
	to.write(`{"jsonrpc":"2.0","id":`+id+`,"method":`+quote(method)+`,"params":`+string(params)+`}`, false)
	select {
	case b := <-waiting:
		return string(b)
	case <-time.After(askWait):
		return "client silent"
	}
}

// answered takes the host's answer to one of our requests.
func (s *server) answered(m message) {
	s.asking.Lock()
	waiting := s.asked[string(m.ID)]
	delete(s.asked, string(m.ID))
	s.asking.Unlock()
	switch {
	case waiting == nil:
	case m.Error != nil:
		waiting <- []byte("client error: " + string(m.Error))
	default:
		waiting <- []byte("client result: " + string(m.Result))
	}
}

// listener is a stream for what belongs to no request: a GET stream, or the
// answer to subscriptions/listen, whose id everything then carries.
type listener struct {
	to           sink
	subscription string
}

// listen answers subscriptions/listen, for good.
func (s *server) listen(m message) {
	l := &listener{to: m.to, subscription: string(m.ID)}
	s.add(l)
	l.say("notifications/subscriptions/acknowledged", `{"notifications":{"toolsListChanged":true}}`)
}

// endEarly acknowledges one of the first -n subscriptions and ends it at once.
func (s *server) endEarly(m message, end func()) bool {
	if s.listens.Add(1) > int64(s.n) {
		return false
	}
	listener{m.to, string(m.ID)}.say("notifications/subscriptions/acknowledged", `{"notifications":{"toolsListChanged":true}}`)
	end()
	return true
}

func (s *server) add(l *listener) {
	s.listening.Lock()
	defer s.listening.Unlock()
	s.listeners[l] = true
}

func (s *server) drop(l *listener) {
	s.listening.Lock()
	defer s.listening.Unlock()
	delete(s.listeners, l)
}

func (l listener) say(method, params string) bool {
	if l.subscription != "" {
		comma := ","
		if params == "{}" {
			comma = ""
		}
		params = `{"_meta":{"io.modelcontextprotocol/subscriptionId":` + l.subscription + `}` + comma + params[1:]
	}
	return l.to.write(notification(method, params), false)
}

// changed says that the list has changed: to whoever listens, or else to the
// caller of m.
func (s *server) changed(m message) {
	const method = "notifications/tools/list_changed"
	s.listening.Lock()
	defer s.listening.Unlock()
	for l := range s.listeners {
		if !l.say(method, "{}") {
			delete(s.listeners, l)
		}
	}
	if len(s.listeners) == 0 {
		m.to.write(notification(method, "{}"), false)
	}
}
