package call

import (
	"context"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// What is there twice is checked once: the server might take the other one.
func TestRepeatedMembersAreRefused(t *testing.T) {
	p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) {
		return answer(`{"structuredContent":{"n":"x","n":1}}`), nil
	})
	checked := `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`
	_, err := pipeline(p, checked).Do(t.Context(), Request{Tool: "s/t", Arguments: []byte(`{"a":{"b":1,"b":2}}`)})
	if f, ok := err.(*Failure); !ok || p.dos != 0 || f.Class != failure.InvalidArguments || len(f.Problems) != 1 || f.Problems[0].Path != "/a/b" {
		t.Errorf("%d attempts, %v", p.dos, err)
	}
	res, err := pipeline(p, checked).Do(t.Context(), Request{Tool: "s/t"})
	if err != nil || len(res.Notices) != 1 || !strings.Contains(res.Notices[0], "/n: is there twice") {
		t.Errorf("%+v %v", res, err)
	}
}
