package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
)

// elicit puts the question to an MCP client, as a form (2025-06-18,
// client/elicitation; forms of 2026-07-28 are the same).
func elicit(ask Asker) Consenter {
	return func(ctx context.Context, q Question) (Answer, error) {
		var params rawjson.Object
		params.String("message", q.message())
		params.Raw("requestedSchema", consentForm)
		result, err := ask(ctx, "elicitation/create", params.Bytes())
		var f *failure.Failure
		switch {
		case errors.As(err, &f) && f.Class == failure.InvalidArguments && f.Delivery == failure.NotSent:
			return Answer{}, errors.New(nobody[q.Caller]) // it did not declare that it answers
		case err != nil:
			return Answer{}, fmt.Errorf("the client did not answer: %w", err)
		}
		a := Answer{By: "elicitation"}
		switch action := gjson.GetBytes(result, "action").String(); action {
		case "accept":
			a.Yes, a.Always = true, gjson.GetBytes(result, "content.always").Type == gjson.True
		case "decline":
		default: // a form that was closed, or could not be shown, chose nothing
			return Answer{}, errors.New("the client's question was closed without an answer")
		}
		return a, nil
	}
}

var consentForm = []byte(`{"type":"object","properties":{"always":{"type":"boolean","title":"Do not ask again for this tool",` +
	`"description":"Whoever calls it with this credential, until the tool or its server changes, or until 'collet consent revoke'","default":false}}}`)

func (q *Question) message() string {
	wants := "A model wants"
	if q.Caller != "model" {
		wants = "A " + string(q.Caller) + " wants"
	}
	return fmt.Sprintf("%s to call the tool %s of the server %s with the arguments\n%s\nMay it?", wants, Plain(q.Tool, maxShownName), q.Server, q.Shown())
}

const (
	maxShown     = 4 << 10 // of arguments, in bytes
	maxShownName = 128
)

// Shown is the arguments for a person: JSON on one line, in which nothing acts on a
// screen or looks like something else. Of long ones the middle is left out, and how
// much.
func (q *Question) Shown() string { return shortened(Plain(string(compact(q.Arguments)), 0), maxShown) }

// Plain is a stranger's text with everything that is not a printable character or a
// space spelled as JSON does, and of at most limit bytes; 0 is no limit.
func Plain(s string, limit int) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if limit > 0 {
		return shortened(b.String(), limit)
	}
	return b.String()
}

// shortened leaves the middle of a long text out.
func shortened(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := limit/2, len(s)-limit/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s ... (%d bytes left out) ... %s", s[:head], tail-head, s[tail:])
}

// compact is JSON on one line, its tokens as they are.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
