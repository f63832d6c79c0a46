package grant

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
)

const (
	// maxToken bounds a token in bytes: it goes into a header with every request.
	maxToken = 32 << 10
	// maxLifetime bounds what is believed of a lifetime.
	maxLifetime = 10 * 365 * 24 * time.Hour
)

// answer is the body of a token response: of RFC 6749 section 5.1 or of section 5.2,
// and of RFC 8628 section 3.2.
type answer struct {
	Access      string          `json:"access_token"`
	Type        string          `json:"token_type"`
	Refresh     string          `json:"refresh_token"`
	Scope       json.RawMessage `json:"scope"`
	ExpiresIn   json.RawMessage `json:"expires_in"`
	Error       string          `json:"error"`
	Description string          `json:"error_description"`

	DeviceCode      string          `json:"device_code"`
	UserCode        string          `json:"user_code"`
	VerificationURI string          `json:"verification_uri"`
	VerificationURL string          `json:"verification_url"` // as Google spells it
	Complete        string          `json:"verification_uri_complete"`
	Interval        json.RawMessage `json:"interval"`
}

// parse reads a body, which is JSON, or a form where a server says so. ok is false
// for anything else.
func parse(a *fetch.Answer) (body answer, ok bool) {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		v, err := url.ParseQuery(string(a.Body))
		if err != nil {
			return answer{}, false
		}
		return answer{
			Access: v.Get("access_token"), Type: v.Get("token_type"), Refresh: v.Get("refresh_token"), Error: v.Get("error"),
			Description: v.Get("error_description"), Scope: text(v.Get("scope")), ExpiresIn: text(v.Get("expires_in")),
		}, true
	}
	return body, json.Unmarshal(a.Body, &body) == nil
}

func text(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	b, _ := json.Marshal(s) // a string has no error
	return b
}

// Read is what a token endpoint's answer says. The error is a *Refused unless the
// answer makes no sense.
func Read(a *fetch.Answer) (Tokens, error) {
	body, ok := parse(a)
	switch {
	case a.Status/100 != 2 || ok && body.Error != "": // some refuse with status 200
		return Tokens{}, refused(a)
	case !ok:
		return Tokens{}, errors.New("the authorization server's answer is no token response")
	case body.Access == "":
		return Tokens{}, errors.New("the authorization server's answer has no access_token")
	case body.Type != "" && !strings.EqualFold(body.Type, "bearer"):
		return Tokens{}, fmt.Errorf("the authorization server issued a token of type %q, and only Bearer is known here", short(body.Type))
	case !printable(body.Access) || !printable(body.Refresh):
		return Tokens{}, errors.New("the authorization server issued a token that is too long, or has characters in it that no header can carry")
	}
	t := Tokens{Access: body.Access, Refresh: body.Refresh, Scopes: scopes(body.Scope)}
	t.Lifetime, t.Known = seconds(body.ExpiresIn)
	return t, nil
}

func refused(a *fetch.Answer) *Refused {
	r := &Refused{Status: a.Status, RetryAfter: a.RetryAfter}
	if body, ok := parse(a); ok {
		r.Code, r.Description = body.Error, body.Description
	}
	return r
}

// printable says whether s can be a token (RFC 6750 section 2.1, but for what
// servers use besides) and is not too long.
func printable(s string) bool {
	return len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// scopes reads a scope: a string with spaces, or a list as some write it.
func scopes(raw json.RawMessage) []string {
	var one string
	var many []string
	if json.Unmarshal(raw, &one) != nil && json.Unmarshal(raw, &many) == nil {
		one = strings.Join(many, " ")
	}
	if f := strings.Fields(one); len(f) > 0 {
		return f
	}
	return nil // also for an empty one: a token without any would be of no use
}

// seconds reads a number of seconds, also one in a string. What is neither is as if
// it were missing: the tokens beside it are good, and the old ones may be gone.
func seconds(raw json.RawMessage) (time.Duration, bool) {
	number := string(raw)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		number = quoted
	}
	if f, err := strconv.ParseFloat(number, 64); number == "" || strings.ContainsAny(number, "xXpP_iInN") || err != nil {
		return 0, false
	} else if f < maxLifetime.Seconds() {
		return time.Duration(max(f, 0) * float64(time.Second)), true
	}
	return maxLifetime, true
}
