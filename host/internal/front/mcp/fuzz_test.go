package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// credentials is a host whose principals have names.
type credentials struct{ inquirer }

func (credentials) Owner(principal any) string { return principal.(string) }

// Nobody answers a question but who was asked: not with another's state, nor with one
// that is made up or changed. The states are that of a parked request and that of a
// server of the modern era.
func FuzzRequestState(f *testing.F) {
	for _, seed := range []string{"", "p:", "u:", "p:x", "u:x", "p:TOKEN", "u:SEAL", "TOKEN", "SEAL", "u:SEALx", "p:TOKEN\x00", "u:u:SEAL", "p:u:SEAL"} {
		for _, who := range []string{"ann", "eve", ""} {
			f.Add(seed, who, "old__ask")
		}
	}
	f.Add("p:TOKEN", "ann", "old__other")
	f.Fuzz(func(t *testing.T, state, who, tool string) {
		answered := 0
		front := New(credentials{inquirer{func(ctx context.Context, req call.Request) (*call.Result, error) {
			switch {
			case req.RequestState != "":
				answered++
				return &call.Result{JSON: json.RawMessage(`{"content":[]}`)}, nil
			case gjson.GetBytes(req.Arguments, "modern").Exists():
				return &call.Result{Input: &call.InputRequired{Requests: json.RawMessage(`{}`), State: "the server's"}}, nil
			}
			res, err := asking(ctx, req)
			if err == nil {
				answered++
			}
			return res, err
		}}})
		defer front.Close()
		parked, err := ask(t.Context(), front, "ann", forms, "")
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := ask(t.Context(), front, "ann", forms, `,"arguments":{"modern":1}`)
		if err != nil {
			t.Fatal(err)
		}
		token, seal := parked.Get("requestState").String(), sealed.Get("requestState").String()
		if !strings.HasPrefix(token, ofParked) || !strings.HasPrefix(seal, ofUpstream) {
			t.Fatalf("%q and %q", token, seal)
		}
		state = strings.NewReplacer("TOKEN", token[len(ofParked):], "SEAL", seal[len(ofUpstream):]).Replace(state)
		own := who == "ann" && tool == "old__ask" && (state == token || state == seal)
		params := rawjson.AppendString([]byte(`{"name":`), tool)
		params = rawjson.AppendString(append(params, `,"inputResponses":{"q1":{"action":"decline"}},"requestState":`...), state)
		_, err = front.Handle(t.Context(), &protocol.Incoming{
			Caller: &protocol.Caller{Modern: true, Capabilities: json.RawMessage(forms), Principal: who},
			Method: "tools/call", Params: append(params, '}'),
		})
		if (answered > 0) != own {
			t.Fatalf("%q of %q for %q: answered %d times, %v", state, who, tool, answered, err)
		}
		// What was not used still counts for whose it is.
		if state == token && own {
			return
		}
		if _, err := ask(t.Context(), front, "ann", forms, answers(parked, `{"action":"decline"}`)); err != nil {
			t.Fatalf("%q of %q has spoilt another's: %v", state, who, err)
		}
	})
}
