// Command testhook is a hook for tests: it does at each point what its config says,
// misbehaviour included.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/hook"
)

type config struct {
	Set    map[string]json.RawMessage `json:"set,omitempty"`    // servers to set
	Update map[string]json.RawMessage `json:"update,omitempty"` // servers to patch
	Remove []string                   `json:"remove,omitempty"`
	Hide   []string                   `json:"hide,omitempty"`  // tools
	Patch  map[string]json.RawMessage `json:"patch,omitempty"` // tools

	Before string `json:"before,omitempty"` // a deed, see do
	After  string `json:"after,omitempty"`
	Open   string `json:"open,omitempty"`   // error, exit
	Starts string `json:"starts,omitempty"` // a file that each start adds a byte to
	Mark   string `json:"mark,omitempty"`   // what arguments and results are marked with
}

func main() {
	hook.Main(hook.Info{Name: "testhook", Version: "0.0.1", Summary: "Misbehaves on demand."}, func(_ context.Context, _ *hook.Env, cfg config) (*testhook, error) {
		if cfg.Starts != "" {
			file, err := os.OpenFile(cfg.Starts, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = file.WriteString("x")
				err = errors.Join(err, file.Close())
			}
			if err != nil {
				return nil, err
			}
		}
		switch cfg.Open {
		case "error":
			return nil, errors.New("it does not want to open")
		case "exit":
			os.Exit(3)
		}
		fmt.Println("prints do not break the handshake")
		return &testhook{cfg}, nil
	})
}

type testhook struct{ cfg config }

func (h *testhook) EditServers(_ context.Context, servers *hook.Servers) error {
	for name, entry := range h.cfg.Set {
		if err := servers.Set(name, entry); err != nil {
			return err
		}
	}
	for name, patch := range h.cfg.Update {
		if err := servers.Update(name, patch); err != nil {
			return err
		}
	}
	for _, name := range h.cfg.Remove {
		servers.Remove(name)
	}
	return nil
}

func (h *testhook) EditTools(_ context.Context, tools *hook.Tools) error {
	for _, name := range h.cfg.Hide {
		tools.Hide(name)
	}
	for name, patch := range h.cfg.Patch {
		if _, ok := tools.Get(name); ok {
			if err := tools.Patch(name, patch); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *testhook) Before(ctx context.Context, call *hook.Call) (*hook.Verdict, error) {
	switch h.cfg.Before {
	case "mark":
		return hook.Arguments(mark(call.Arguments, h.cfg.Mark)), nil
	case "answer":
		return hook.Answer(hook.Text("answered by "+h.cfg.Mark+" for "+call.Caller, false)), nil
	}
	return h.do(ctx, h.cfg.Before)
}

func (h *testhook) After(ctx context.Context, _ *hook.Call, result json.RawMessage) (*hook.Verdict, error) {
	switch h.cfg.After {
	case "mark":
		return hook.Result(mark(result, h.cfg.Mark)), nil
	case "answer":
		return hook.Answer(result), nil
	}
	return h.do(ctx, h.cfg.After)
}

// do is what a hook may do at either point.
func (h *testhook) do(ctx context.Context, deed string) (*hook.Verdict, error) {
	switch deed {
	case "refuse":
		return hook.Refuse(failure.ConsentRequired, "%s", strings.TrimSpace("not today "+h.cfg.Mark)), nil
	case "error":
		return nil, errors.New("no idea " + h.cfg.Mark)
	case "panic":
		panic("on demand")
	case "exit":
		os.Exit(7)
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "flood":
		for range 20_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("flood ", 100))
		}
	case "huge":
		return hook.Arguments(json.RawMessage(`{"name":"` + strings.Repeat("x", 65<<20) + `"}`)), nil
	case "tell":
		fmt.Fprintln(os.Stderr, "the token is "+os.Getenv("HOOK_TOKEN"))
		return nil, errors.New("nobody takes " + os.Getenv("HOOK_TOKEN"))
	case "garbage":
		return hook.Arguments(json.RawMessage(`{"a":`)), nil
	}
	return nil, nil
}

// mark adds to the member "name" of arguments, or "by" of results, in text: order
// and everything else stay.
func mark(raw json.RawMessage, with string) json.RawMessage {
	if s := string(raw); strings.Contains(s, `"name":"`) {
		return json.RawMessage(strings.Replace(s, `"name":"`, `"name":"`+with, 1))
	}
	return json.RawMessage(strings.Replace(string(raw), `"text":"`, `"text":"`+with, 1))
}
