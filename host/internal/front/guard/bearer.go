package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// mostToken bounds a bearer token: tokens of issuers that list groups in them stay
// below it, and so does the limit of all headers together.
const mostToken = 16 << 10

// weakToken is the length below which a token might be guessed. Such a one does
// not count from an address with too many failures; a longer one always does, so
// that nobody is locked out by a neighbour with a wrong one.
const weakToken = 32

// ErrUnknown is an Authenticator's answer to a token that is none of its.
var ErrUnknown = errors.New("the token is not known")

// Refusal is an Authenticator's answer to a token that it knows how to read and
// that does not count.
type Refusal struct {
	Reason Reason
	// Message says to the client what is wrong, without a part of the token.
	Message string
	// Scopes are what the client has to ask for, with BadScope.
	Scopes []string
}

func (r *Refusal) Error() string { return r.Message }

// authenticate returns who sent the request, and with which token: "" for nobody
// in particular.
func (g *Guard) authenticate(r *http.Request) (*Principal, string, *denial) {
	if len(g.opt.Auth) == 0 {
		if !localAddr(r).Addr().IsLoopback() {
			return nil, "", &denial{status: http.StatusForbidden, reason: NotLocal,
				message: "This server has no authentication, so it answers on the loopback interface only."}
		}
		return anonymous, "", nil
	}
	token, d := bearer(r)
	if d != nil {
		return nil, "", g.failed(r, d)
	}
	if len(token) < weakToken {
		if wait := g.failures.exhausted(addressKey(r), time.Now()); wait > 0 {
			return nil, "", tooManyFailures(wait)
		}
	}
	p, err := g.ask(r.Context(), token)
	if err == nil {
		return p, token, nil
	}
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case errors.Is(err, ErrUnknown):
		d = &denial{status: http.StatusUnauthorized, reason: UnknownToken, oauth: "invalid_token",
			message: "The bearer token is not one that counts here."}
	case !refused:
		d = &denial{status: http.StatusServiceUnavailable, reason: Undecided, retry: 5 * time.Second,
			message: "Whether the bearer token counts cannot be decided at the moment.",
			detail:  []any{"error", err.Error()}}
		return nil, "", d // not the client's fault
	case refusal.Reason == BadScope:
		d = &denial{status: http.StatusForbidden, reason: BadScope, oauth: "insufficient_scope", scopes: refusal.Scopes, message: refusal.Message}
	default:
		d = &denial{status: http.StatusUnauthorized, reason: refusal.Reason, oauth: "invalid_token", message: refusal.Message}
	}
	return nil, "", g.failed(r, d)
}

// ask puts the token to each authenticator until one knows it. What those who could
// read it had against it is what the client is told; that it is another issuer's
// only when nobody had more to say.
func (g *Guard) ask(ctx context.Context, token string) (*Principal, error) {
	answer := ErrUnknown
	for _, a := range g.opt.Auth {
		p, err := a.Authenticate(ctx, token)
		if err == nil {
			return p, nil
		}
		refusal, refused := errors.AsType[*Refusal](err)
		if answer == ErrUnknown || !errors.Is(err, ErrUnknown) && !(refused && refusal.Reason == BadIssuer) {
			answer = err
		}
	}
	return nil, answer
}

// failed counts a failure against the address it came from. When there were too
// many, that is the answer.
func (g *Guard) failed(r *http.Request, d *denial) *denial {
	if wait := g.failures.take(addressKey(r), time.Now()); wait > 0 {
		return tooManyFailures(wait)
	}
	return d
}

func tooManyFailures(wait time.Duration) *denial {
	return &denial{status: http.StatusTooManyRequests, reason: TooManyFailures, retry: wait,
		message: "Too many requests without a valid credential came from this address."}
}

// bearer reads the request's token (RFC 6750 section 2.1, the only way that MCP
// allows).
func bearer(r *http.Request) (string, *denial) {
	if strings.Contains(r.URL.RawQuery, "access_token") && r.URL.Query().Has("access_token") {
		return "", &denial{status: http.StatusBadRequest, reason: Malformed, oauth: "invalid_request",
			message: "A token in the URL ends up in logs and is never accepted: send it as \"Authorization: Bearer ...\", and replace this one."}
	}
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", &denial{status: http.StatusUnauthorized, reason: NoToken,
			message: "This server wants a credential: send \"Authorization: Bearer <token>\"."}
	}
	malformed := func(message string) (string, *denial) {
		return "", &denial{status: http.StatusBadRequest, reason: Malformed, oauth: "invalid_request", message: message}
	}
	if len(values) > 1 {
		return malformed("There is more than one Authorization header.")
	}
	token, fault := parseBearer(values[0])
	switch fault {
	case "":
		return token, nil
	case otherScheme:
		return "", &denial{status: http.StatusUnauthorized, reason: NoToken, message: fault}
	}
	return malformed(fault)
}

const otherScheme = "The Authorization header is of another scheme: send \"Authorization: Bearer <token>\"."

// parseBearer reads the header's value. The scheme's case does not matter (RFC
// 9110 section 11.1); a token is visible ASCII, which is what files may hold too.
func parseBearer(value string) (token, fault string) {
	scheme, rest, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", otherScheme
	}
	token = strings.Trim(rest, " ")
	if token == "" {
		return "", "The Authorization header has no token behind Bearer."
	}
	if len(token) > mostToken {
		return "", fmt.Sprintf("The bearer token is longer than %d bytes.", mostToken)
	}
	if !CanBeSent(token) {
		return "", "The bearer token holds characters that no token has."
	}
	return token, ""
}

// CanBeSent reports whether a client could send the token in a header: visible
// ASCII without spaces.
func CanBeSent(token string) bool {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return false
		}
	}
	return token != "" && len(token) <= mostToken
}
