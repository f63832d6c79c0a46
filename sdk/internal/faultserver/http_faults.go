package main

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// httpSwitches are faults of HTTP that are looked up where they act.
var httpSwitches = []string{
	"sess404", "sess404-always", "nosession",
	"500-after", "rst", "rst-each", "hangup", "gzip", "slow-body",
	"sse", "json", "sse-stall", "sse-trickle", "sse-keepopen",
}

// gate is a fault that looks at a request before the protocol does. do says
// whether the request is dealt with.
type gate struct {
	name     string
	concerns func(*exchange) bool
	do       func(*exchange) bool
}

func method(name string) func(*exchange) bool {
	return func(x *exchange) bool { return x.r.Method == name }
}

func everything(*exchange) bool { return true }

var (
	anyGet    = method(http.MethodGet)
	anyDelete = method(http.MethodDelete)
	anyCall   = (*exchange).isCall
)

// with answers with a fixed response.
func with(status int, kind, body string) func(*exchange) bool {
	return func(x *exchange) bool {
		x.reply(status, kind, body)
		return true
	}
}

// hang answers nothing until the client leaves.
func hang(x *exchange) bool {
	<-x.r.Context().Done()
	return true
}

// busy refuses a call with a status and a Retry-After, the first n calls, or all
// when n is nil.
func busy(name string, status int, n func(*server) int, retryAfter func() string) gate {
	return gate{name, anyCall, func(x *exchange) bool {
		if n != nil && !x.web.countUpTo(name, n(x.web.s)) {
			return false
		}
		if retryAfter != nil {
			x.rw.Header().Set("Retry-After", retryAfter())
		}
		http.Error(x.rw, http.StatusText(status), status)
		return true
	}}
}

func firstN(s *server) int { return s.n }

func seconds(n int) func() string { return func() string { return strconv.Itoa(n) } }

// redirect sends a request elsewhere, except one that has arrived.
func redirect(name string, status int, to func(*exchange) string) gate {
	return gate{name, everything, func(x *exchange) bool {
		location := to(x)
		if location == "" {
			return false
		}
		x.rw.Header().Set("Location", location)
		x.rw.WriteHeader(status)
		return true
	}}
}

// slashed is the URL with a slash at its end, as routers redirect to.
func slashed(x *exchange) string {
	if x.r.URL.Path == path {
		return path + "/"
	}
	return ""
}

func always(location string) func(*exchange) string {
	return func(*exchange) string { return location }
}

const page = "<!doctype html><title>Sign in</title><p>Please sign in."

var gates = []gate{
	redirect("redirect307", http.StatusTemporaryRedirect, slashed),
	redirect("redirect308", http.StatusPermanentRedirect, slashed),
	redirect("redirect301", http.StatusMovedPermanently, slashed),
	redirect("redirect302", http.StatusFound, slashed),
	redirect("redirect-loop", http.StatusTemporaryRedirect, func(x *exchange) string { return x.r.URL.Path }),
	redirect("redirect-cross", http.StatusTemporaryRedirect, func(x *exchange) string { return x.web.s.sibling }),
	redirect("redirect-meta", http.StatusTemporaryRedirect, always("http://169.254.7.7/latest/meta-data/")),
	redirect("redirect-file", http.StatusTemporaryRedirect, always("file:///etc/hostname")),

	{"get405", anyGet, with(http.StatusMethodNotAllowed, "", "")},
	{"get404", anyGet, with(http.StatusNotFound, "text/plain", "not found")},
	{"get400", anyGet, with(http.StatusBadRequest, "text/plain", "POST only")},
	{"get401", anyGet, with(http.StatusUnauthorized, "text/plain", "who are you?")},
	{"get200json", anyGet, with(http.StatusOK, "application/json", `{"status":"ok"}`)},
	{"get-silent", anyGet, hang},
	{"get-close", anyGet, with(http.StatusOK, "text/event-stream", "")},

	{"delete405", anyDelete, with(http.StatusMethodNotAllowed, "", "")},
	{"delete-hang", anyDelete, hang},

	busy("429", http.StatusTooManyRequests, firstN, seconds(1)),
	busy("503", http.StatusServiceUnavailable, firstN, seconds(1)),
	busy("429-date", http.StatusTooManyRequests, firstN, func() string {
		// HTTP dates have whole seconds: two from now is one to two seconds ahead.
		return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat)
	}),
	busy("429-long", http.StatusTooManyRequests, nil, seconds(3600)),
	busy("429-plain", http.StatusTooManyRequests, nil, nil),

	{"call-202", anyCall, with(http.StatusAccepted, "", "")},
	{"call-html", anyCall, with(http.StatusOK, "text/html", page)},
	{"call-empty", anyCall, with(http.StatusOK, "application/json", "")},
	{"call-400", anyCall, with(http.StatusBadRequest, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":%s}`, rpcError(-32000, "Bad Request")))},
	{"call-403", anyCall, with(http.StatusForbidden, "text/html", page)},
}

// notes are odd answers to notifications, and to answers of the client.
var notes = []struct {
	name string
	do   func(*exchange) bool
}{
	{"note-204", with(http.StatusNoContent, "", "")},
	{"note-200empty", with(http.StatusOK, "application/json", "")},
	{"note-200null", with(http.StatusOK, "application/json", "null")},
	{"note-200obj", with(http.StatusOK, "application/json", "{}")},
	{"note-202text", with(http.StatusAccepted, "text/plain", "Accepted")},
}
