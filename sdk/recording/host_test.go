package recording

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

const secret = "s3cret-token-0123456789"

// asking is an adapter whose calls do something between a progress event and the end.
type asking struct {
	adapterpb.AdapterClient
	midway func()
}

func (a *asking) CallTool(context.Context, *adapterpb.CallToolRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[adapterpb.CallToolEvent], error) {
	return &askingStream{midway: a.midway}, nil
}

type askingStream struct {
	grpc.ServerStreamingClient[adapterpb.CallToolEvent]
	midway func()
	n      int
}

func (s *askingStream) Recv() (*adapterpb.CallToolEvent, error) {
	switch s.n++; s.n {
	case 1:
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Progress{Progress: &adapterpb.Progress{Done: 1}}}, nil
	case 2:
		s.midway()
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: &adapterpb.CallToolResult{Result: []byte(`{}`)}}}, nil
	}
	return nil, io.EOF
}

// answering is a host that answers with what is secret.
type answering struct {
	adapterpb.UnimplementedHostServer
	refuses bool
}

func (a answering) Ask(_ context.Context, req *adapterpb.AskRequest) (*adapterpb.AskResponse, error) {
	if a.refuses {
		return nil, failure.ToStatus(failure.New(failure.ConsentRequired, failure.NotSent, "nobody tells %s", secret))
	}
	return &adapterpb.AskResponse{Result: []byte(`{"it":"` + secret + `","to": ` + string(req.GetParams()) + `}`)}, nil
}

func (a answering) Token(context.Context, *adapterpb.TokenRequest) (*adapterpb.TokenResponse, error) {
	if a.refuses {
		return nil, failure.ToStatus(failure.New(failure.AuthFailure, failure.NotSent, "%s is refused", secret))
	}
	return &adapterpb.TokenResponse{Token: "never-written-" + secret, Scheme: "Bearer"}, nil
}

// What an adapter asks its host is written, and never a token: not the one that it
// gets, nor the one that was refused, nor what is in its resource's query.
func TestHost(t *testing.T) {
	t.Parallel()
	for _, refuses := range []bool{false, true} {
		var buf bytes.Buffer
		var h adapterpb.HostServer
		inner := answering{refuses: refuses}
		c := Client(NewWriter(&buf, "1"), Source{Server: "s", Clean: func(s string) string { return strings.ReplaceAll(s, secret, "[token]") }}, &asking{midway: func() {
			for _, id := range []string{"a", "of no call"} {
				resp, err := h.Ask(t.Context(), &adapterpb.AskRequest{CallId: id, Method: "roots/list", Params: []byte(`{ "n": 1.0 }`)})
				if (err != nil) != refuses || !refuses && !bytes.Contains(resp.GetResult(), []byte(secret)) {
					t.Errorf("the adapter got %s, %v", resp.GetResult(), err)
				}
			}
			resp, err := h.Token(t.Context(), &adapterpb.TokenRequest{
				Resource: "https://me:" + secret + "@h.example/mcp?key=" + secret, Scopes: []string{"read"}, Rejected: "old-" + secret, Challenge: `Bearer error="` + secret + `"`,
			})
			if (err != nil) != refuses || !refuses && resp.GetToken() != "never-written-"+secret {
				t.Errorf("the adapter got %v, %v", resp, err)
			}
		}})
		h = Host(c, inner)
		stream, err := c.CallTool(t.Context(), &adapterpb.CallToolRequest{CallId: "a", Tool: "t"})
		for err == nil {
			_, err = stream.Recv()
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		text := buf.String()
		if strings.Contains(text, secret) || strings.Contains(text, "never-written") || strings.Contains(text, "old-") {
			t.Errorf("it has a secret:\n%s", text)
		}
		r, err := Read(&buf)
		if err != nil || len(r.Entries) != 2 {
			t.Fatalf("%v\n%s", err, text)
		}
		token, call := r.Entries[0], r.Entries[1]
		if token.Kind != Token || token.Resource != "https://h.example/mcp" || !token.Rejected || len(token.Scopes) != 1 || (token.Failure != nil) != refuses {
			t.Errorf("%+v", token)
		}
		if len(call.Asks) != 1 || len(call.Events) != 1 {
			t.Fatalf("%s", text)
		}
		ask := call.Asks[0]
		if ask.After != 1 || ask.Method != "roots/list" || string(ask.Params) != `{ "n": 1.0 }` {
			t.Errorf("%+v", ask)
		}
		if refuses && (ask.Failure == nil || ask.Failure.Class != "consent-required" || ask.Failure.Message != "nobody tells [token]") ||
			!refuses && string(ask.Result) != `{"it":"[token]","to": { "n": 1.0 }}` {
			t.Errorf("%s", text)
		}
		if !ask.Answers([]byte(ask.Result), map[bool]error{true: failure.New(failure.ConsentRequired, failure.NotSent, "no")}[refuses]) || ask.Answers([]byte(`{"it":1}`), nil) {
			t.Errorf("which answer is the recorded one? %+v", ask)
		}
	}
	if inner := (answering{}); Host(&asking{}, inner) != adapterpb.HostServer(inner) {
		t.Error("a client that records nothing")
	}
}
