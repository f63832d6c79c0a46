package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Reason says in a word why a request was refused. Metrics have it as a label, so
// there are only these.
type Reason string

// The reasons.
const (
	BadHost         Reason = "host"          // 403: Host names another server
	BadOrigin       Reason = "origin"        // 403: a web page of another origin
	NotLocal        Reason = "not_local"     // 403: no authentication, and not over loopback
	NoToken         Reason = "no_token"      // 401
	Malformed       Reason = "malformed"     // 400: Authorization cannot be read
	UnknownToken    Reason = "unknown_token" // 401
	Expired         Reason = "expired"       // 401
	NotYetValid     Reason = "not_yet_valid" // 401
	BadIssuer       Reason = "issuer"        // 401: of another authorization server
	BadAudience     Reason = "audience"      // 401: made for another resource
	BadAlgorithm    Reason = "algorithm"     // 401: signed in a way that is not accepted
	BadSignature    Reason = "signature"     // 401
	UnknownKey      Reason = "unknown_key"   // 401: signed with a key that the issuer does not list
	BadClaims       Reason = "claims"        // 401: lacks a claim, or has one of another type
	BadScope        Reason = "scope"         // 403
	Undecided       Reason = "undecided"     // 503: the issuer or a file cannot be read
	TooManyFailures Reason = "failures"      // 429: from this address, without a valid credential
	TooFast         Reason = "rate"          // 429: by this principal
	TooMany         Reason = "in_flight"     // 429: of this principal at once
	TooLarge        Reason = "body_size"     // 413
	BadMethod       Reason = "method"        // 405: of the metadata's own paths
	TooManyUsers    Reason = "principals"    // 503: more principals at once than are kept count of
)

// Denial is one request that was refused.
type Denial struct {
	Method     string // of HTTP, "other" for an unusual one
	Reason     Reason
	Status     int
	Principal  string // its ID; empty when it is not known
	Path, From string // what the request asks for, and the address it came from; bounded
}

// denial is why a request goes no further, and what the client is told.
type denial struct {
	status    int
	reason    Reason
	message   string
	oauth     string   // RFC 6750 section 3.1
	scopes    []string // instead of the options' scopes
	retry     time.Duration
	principal string
	detail    []any // more for the log, in pairs
}

// deny answers. The body is a JSON-RPC error without an id, as the transport's
// specification allows for a request that was not looked into.
func (g *Guard) deny(w http.ResponseWriter, r *http.Request, d *denial) {
	g.count(r, d)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if d.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((d.retry+time.Second-1)/time.Second)))
	}
	if d.status == http.StatusUnauthorized || d.oauth != "" {
		h.Set("WWW-Authenticate", g.challenge(r, d))
	}
	if r.Body != nil && r.Body != http.NoBody {
		// net/http reads on to keep the connection; a refused client gets little time.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedBodyTime))
	}
	w.WriteHeader(d.status)
	if r.Method == http.MethodHead {
		return
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]any{ // strings and an integer: cannot fail
		"jsonrpc": "2.0", "error": map[string]any{"code": -32000, "message": d.message},
	})
	_, _ = w.Write(body.Bytes()) // a client that is gone needs no answer
}

// challenge is the WWW-Authenticate header (RFC 6750 section 3, RFC 9728 section
// 5.1). A request without a credential is told of no error.
func (g *Guard) challenge(r *http.Request, d *denial) string {
	var b strings.Builder
	b.WriteString("Bearer")
	sep := " "
	add := func(name, value string) {
		b.WriteString(sep + name + `="` + value + `"`) // our own words and checked options: nothing to escape
		sep = ", "
	}
	if url := g.metadata.url(r); url != "" {
		add("resource_metadata", url)
	}
	if d.oauth != "" {
		add("error", d.oauth)
		add("error_description", strings.NewReplacer(`"`, "'", `\`, "").Replace(d.message))
	}
	scopes := d.scopes
	if len(scopes) == 0 {
		scopes = g.opt.Scopes
	}
	if len(scopes) > 0 {
		add("scope", strings.Join(scopes, " "))
	}
	if sep == " " {
		add("realm", "collet") // a scheme alone is not a challenge that every client reads
	}
	return b.String()
}

// count tells the metrics and the log.
func (g *Guard) count(r *http.Request, d *denial) {
	method := "other"
	switch r.Method {
	case "GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH":
		method = r.Method
	}
	if g.opt.Denied != nil {
		g.opt.Denied(Denial{
			Method: method, Reason: d.reason, Status: d.status, Principal: excerpt(d.principal),
			Path: excerpt(r.URL.Path), From: excerpt(r.RemoteAddr),
		})
	}
	g.log.line(r.Context(), d.reason, func() []any {
		attrs := []any{"reason", string(d.reason), "status", d.status, "method", method, "path", excerpt(r.URL.Path), "from", excerpt(r.RemoteAddr)}
		if d.principal != "" {
			attrs = append(attrs, "principal", excerpt(d.principal))
		}
		return append(attrs, d.detail...)
	})
}

// excerpt bounds what a stranger can put into a line of the log.
func excerpt(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "..."
	}
	return s
}

// quiet is a log that a flood of refusals cannot fill: of each reason there is a line
// at once, and the next one after sameReason, which says how many came between.
type quiet struct {
	to *slog.Logger

	mu   sync.Mutex
	told map[Reason]*telling // the reasons are a few constants
}

type telling struct {
	last time.Time
	left int // refusals since
}

const sameReason = 10 * time.Second

func newQuiet(to *slog.Logger) *quiet {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &quiet{to: to, told: map[Reason]*telling{}}
}

func (q *quiet) line(ctx context.Context, reason Reason, attrs func() []any) {
	level := slog.LevelInfo
	if reason == Undecided {
		level = slog.LevelError // the server's own fault: nobody gets in until somebody repairs it
	}
	if left, due := q.due(reason, time.Now()); due && q.to.Enabled(ctx, level) {
		more := attrs()
		if left > 0 {
			more = append(more, "refusedBefore", left)
		}
		q.to.Log(ctx, level, "http request refused", more...)
	}
}

func (q *quiet) due(reason Reason, now time.Time) (left int, due bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.told[reason]
	if t == nil {
		t = &telling{}
		q.told[reason] = t
	} else if now.Sub(t.last) < sameReason {
		t.left++
		return 0, false
	}
	left = t.left
	t.last, t.left = now, 0
	return left, true
}
