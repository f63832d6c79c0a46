package mcp

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
)

// readyDesk has the answers to tools/list ready, once they are let go.
type readyDesk struct {
	desk
	open chan struct{}
}

func (d *readyDesk) Ready(c *Caller, method string) bool { return c.Modern && method == "tools/list" }

func (d *readyDesk) Handle(ctx context.Context, r *Incoming) (json.RawMessage, error) {
	if r.Method == "tools/list" {
		<-d.open
	}
	return d.desk.Handle(ctx, r)
}

// What is ready is answered by the goroutine that reads: nothing is read meanwhile.
func TestReadyIsAnsweredByTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &readyDesk{open: make(chan struct{})}
		s := NewServer(d, ServerOptions{Name: "desk"})
		c := newConsole(t, s)
		list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
		c.say(list)
		said := make(chan struct{})
		go func() {
			defer close(said)
			c.say(modernCall("2", "echo", `{"text":"x"}`))
		}()
		synctest.Wait()
		select {
		case <-said:
			t.Error("the next request was read meanwhile")
		default:
		}
		close(d.open)
		<-said
		for _, id := range []string{"1", "2"} {
			if got := string(member([]byte(c.hear()), "id")); got != id {
				t.Errorf("answer %s, want %s", got, id)
			}
		}
		c.in.Close()
		<-c.ended
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
