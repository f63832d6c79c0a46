package server

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// Only the caller of a running call is asked, and not after it has returned.
func TestQuestions(t *testing.T) {
	h := &hostService{questions: &questions{}}
	ask := func(id string) (string, error) {
		resp, err := h.Ask(t.Context(), &adapterpb.AskRequest{CallId: id, Method: "roots/list", Params: []byte(`{"n":1.0}`)})
		return string(resp.GetResult()), err
	}
	ctx, cancel := context.WithCancel(t.Context())
	closed := h.questions.open(ctx, cancel, "a", func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(method + string(params)), nil
	})
	h.questions.open(ctx, cancel, "mute", nil)()
	if got, err := ask("a"); err != nil || got != `roots/list{"n":1.0}` {
		t.Errorf("%s %v", got, err)
	}
	for _, id := range []string{"b", "mute", ""} {
		_, err := ask(id)
		if f := failure.FromStatus(err); f == nil || f.Class != failure.ConsentRequired || status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%q: %v", id, err)
		}
	}
	closed()
	if _, err := ask("a"); failure.FromStatus(err) == nil {
		t.Errorf("after the call: %v", err)
	}
	if _, err := h.Token(t.Context(), &adapterpb.TokenRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("token: %v", err)
	}
}

// The end of a call ends its questions and waits for them.
func TestQuestionsEndWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hostService{questions: &questions{}}
		ctx, cancel := context.WithCancel(t.Context())
		asking := false
		closed := h.questions.open(ctx, cancel, "a", func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			asking = true
			<-ctx.Done()
			asking = false
			return nil, ctx.Err()
		})
		failed := make(chan error, 1)
		go func() {
			_, err := h.Ask(t.Context(), &adapterpb.AskRequest{CallId: "a"})
			failed <- err
		}()
		synctest.Wait()
		if !asking {
			t.Fatal("nobody was asked")
		}
		closed()
		if asking {
			t.Error("still asking after the call")
		}
		if err := <-failed; status.Code(err) != codes.Canceled {
			t.Errorf("the adapter got %v", err)
		}
	})
}
