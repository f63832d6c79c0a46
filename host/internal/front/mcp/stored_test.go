package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/codemode"
	protocol "github.com/collet-dev/collet/sdk/mcp"
	"github.com/tidwall/gjson"
)

// keeping is what a script that stores something leaves in a store.
func keeping(t *testing.T, s *codemode.Store) {
	t.Helper()
	if err := s.Keep(map[string]string{"k": "1"}); err != nil {
		t.Fatal(err)
	}
}

// A store lasts for its session as long as it is used, holds something, and its
// credential has the same rights.
func TestStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stores
		same := func(a, b any) bool { return a == b }
		of := func(owner, session string, principal any) (*codemode.Store, func()) {
			return s.of(&protocol.Caller{Session: session, Principal: principal}, owner, same)
		}
		holds := func(want bool, owner, session string, principal any) {
			t.Helper()
			store, release := of(owner, session, principal)
			defer release()
			if got := !store.Empty(); got != want {
				t.Errorf("%s, session %q: holds something: %v", owner, session, got)
			}
		}
		store, release := of("a", "1", "rights")
		beside, releaseBeside := of("a", "1", "rights")
		if store != beside {
			t.Error("scripts side by side have stores of their own")
		}
		keeping(t, store)
		release()
		releaseBeside()
		holds(true, "a", "1", "rights")
		holds(false, "a", "2", "rights")
		holds(false, "b", "1", "rights")
		if len(s.by) != 1 {
			t.Errorf("%d stores are kept, one holds something", len(s.by))
		}
		time.Sleep(storeIdle - 1)
		holds(true, "a", "1", "rights")
		time.Sleep(storeIdle - 1)
		holds(true, "a", "1", "rights")
		time.Sleep(storeIdle)
		holds(false, "a", "1", "rights")

		store, release = of("a", "1", "rights")
		keeping(t, store)
		release()
		holds(false, "a", "1", "fewer rights")
		holds(false, "a", "1", "rights")
	})
}

// One credential has its part of the stores, and takes none away from the others.
func TestStoresAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stores
		put := func(owner, session string) {
			store, release := s.of(&protocol.Caller{Session: session}, owner, func(a, b any) bool { return true })
			keeping(t, store)
			release()
			time.Sleep(time.Nanosecond)
		}
		has := func(owner, session string) bool { return s.by[storeKey{owner, session}] != nil }
		put("other", "")
		using, release := s.of(&protocol.Caller{Session: "in use"}, "greedy", func(a, b any) bool { return true })
		keeping(t, using)
		for i := range 10 * maxStores {
			put("greedy", fmt.Sprint(i))
		}
		if len(s.by) != maxStoring+1 || !has("other", "") || !has("greedy", fmt.Sprint(10*maxStores-1)) || has("greedy", "0") || !has("greedy", "in use") {
			t.Errorf("%d stores are kept", len(s.by))
		}
		release()
		for i := range 10 * maxStores {
			put(fmt.Sprint(i), "")
		}
		if len(s.by) != maxStores || has("other", "") {
			t.Errorf("%d stores are kept", len(s.by))
		}
	})
}

// Progress of a thousand calls is a few reports, the last of which says how things
// are, and none comes when it is over.
func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []gjson.Result
		tally := newTally(func(params json.RawMessage) { sent = append(sent, gjson.ParseBytes(params)) })
		tally.called(codemode.CallEvent{Made: 1, InFlight: 1})
		for i := range 1000 {
			tally.called(codemode.CallEvent{Made: i + 2, InFlight: 2})
		}
		time.Sleep(tallyPause)
		synctest.Wait()
		if len(sent) != 2 || sent[0].Get("message").String() != "1 call made, 1 in flight" || sent[1].Get("message").String() != "1001 calls made, 2 in flight" {
			t.Fatalf("%v", sent)
		}
		if sent[0].Get("progress").Int() != 1 || sent[1].Get("progress").Int() != 1001 {
			t.Errorf("%v", sent)
		}
		time.Sleep(10 * tallyPause)
		tally.progressed("s/t", call.Progress{Done: 3, Total: 4, Message: "<b>"})
		tally.progressed("s/t", call.Progress{Done: 3.5})
		time.Sleep(10 * tallyPause)
		synctest.Wait()
		if len(sent) != 4 || sent[2].Get("message").String() != "1001 calls made, 2 in flight; s/t: 3 of 4, <b>" || sent[3].Get("message").String() != "1001 calls made, 2 in flight; s/t: 3.5" {
			t.Fatalf("%v", sent)
		}
		tally.called(codemode.CallEvent{Made: 5})
		tally.called(codemode.CallEvent{Made: 6})
		tally.stop()
		tally.called(codemode.CallEvent{Made: 7})
		time.Sleep(10 * tallyPause)
		if len(sent) != 5 {
			t.Errorf("%v", sent)
		}
	})
}

// crowded is a host that runs no script.
type crowded struct {
	inquirer
	why error
}

func (h crowded) RunScript(context.Context, Script) (codemode.Outcome, error) {
	return codemode.Outcome{}, h.why
}

// What is no fault of the script is told in the shape that the tool declares.
func TestScriptThatDoesNotRun(t *testing.T) {
	for kind, why := range map[string]error{"busy": codemode.ErrBusy, "aborted": codemode.ErrClosed, "sandbox": fmt.Errorf("no process")} {
		f := New(crowded{why: why})
		r := &protocol.Incoming{Caller: everybody, Params: json.RawMessage(`{}`)}
		answer, err := f.runScript(t.Context(), r, json.RawMessage(`{"code":"return 1"}`))
		got := gjson.GetBytes(answer, "structuredContent")
		if err != nil || got.Get("error.kind").String() != kind || got.Get("error.message").String() != why.Error() || got.Get("status").String() != "failed" || !gjson.GetBytes(answer, "isError").Bool() || !got.Get("calls").IsArray() {
			t.Errorf("%s: %s %v", kind, answer, err)
		}
		f.Close()
	}
}
