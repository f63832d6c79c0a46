package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// A call in the middle of which its caller was asked is recorded with that, without
// secrets, and plays again: whoever can be asked is asked the same and has to say the
// same, and for others the recorded answer counts.
func TestRecordedQuestion(t *testing.T) {
	t.Parallel()
	const (
		secret = "s3cret-of-the-server-0123456789"
		yes    = `{"action":"accept","content":{"n": 1.0}}`
	)
	opt := options(t, "[servers.f]\ncommand = \"${BUILT}/faultserver\"\nenv = { API_TOKEN = \""+secret+"\" }\n")
	var rec bytes.Buffer
	opt.Record = &rec
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Call(patient(t), host.Request{Tool: "f/a_elicit", Ask: answering(yes)})
	if got := textOf(t, res, err); got != "client result: "+yes {
		t.Fatal(got)
	}
	const no = `{"action":"decline"}`
	res, err = h.Call(patient(t), host.Request{Tool: "f/a_elicit", Ask: answering(no)})
	if got := textOf(t, res, err); got != "client result: "+no {
		t.Fatal(got)
	}
	res, err = h.Call(patient(t), host.Request{Tool: "f/a_roots", Ask: answering(`{"roots":[{"uri":"file:///` + secret + `"}]}`)})
	if got := textOf(t, res, err); !strings.Contains(got, secret) {
		t.Fatal(got)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	text := rec.String()
	if strings.Contains(text, secret) {
		t.Errorf("it has a secret:\n%s", text)
	}
	if want := `"asks":[{"method":"elicitation/create","params":{},"result":` + yes + `}]`; !strings.Contains(text, want) {
		t.Fatalf("no %s in\n%s", want, text)
	}

	file := filepath.Join(t.TempDir(), "rec.jsonl")
	if err := os.WriteFile(file, rec.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, match := range map[string]string{"by arguments": "arguments", "in order": "order"} {
		played := func() *host.Host {
			return open(t, fmt.Sprintf("[servers.p]\nplugin = \"replay\"\nconfig = { file = %q, match = %q }\n", filepath.ToSlash(file), match))
		}
		var asked []string
		res, err := played().Call(patient(t), host.Request{Tool: "p/a_elicit", Ask: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			asked = append(asked, method+string(params))
			return json.RawMessage(`{"content":{"n":1.0},"action":"accept"}`), nil
		}})
		if got := textOf(t, res, err); got != "client result: "+yes || len(asked) != 1 || asked[0] != "elicitation/create{}" {
			t.Errorf("%s: asked %q, answered %q", name, asked, got)
		}
		res, err = played().Call(patient(t), host.Request{Tool: "p/a_elicit"})
		if got := textOf(t, res, err); got != "client result: "+yes {
			t.Errorf("%s: for nobody: %q", name, got)
		}
		if match == "arguments" { // whichever answer comes first
			h := played()
			for _, answer := range []string{no, yes, no} {
				res, err = h.Call(patient(t), host.Request{Tool: "p/a_elicit", Ask: answering(answer)})
				if got := textOf(t, res, err); got != "client result: "+answer {
					t.Errorf("%s: %s is answered %q", name, answer, got)
				}
			}
		}
		f := mustFail(t, played(), host.Request{Tool: "p/a_elicit", Ask: answering(`{"action":"cancel"}`)})
		if f.Class != failure.NotFound || !strings.Contains(f.Message, "the question elicitation/create was answered otherwise than in the recording") || !strings.Contains(f.Message, yes) {
			t.Errorf("%s: another answer: %v %s", name, f.Class, f.Message)
		}
	}
}
