package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/recording"
)

// Transcript makes every call of a recording again, in its order, and fails the test
// for each that ends otherwise than it was recorded: with other bytes, as another
// class of failure. The plugin has been given its settings. When the environment has
// COLLET_UPDATE=1 the file is written anew instead, with what the plugin answers now.
//
// The recording is one that collet record made, of one server, or one that was
// written by hand: a header and a line for each call.
func Transcript(t testing.TB, p *Plugin, file string) {
	t.Helper()
	rec, err := recording.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if servers := rec.Servers(); len(servers) != 1 {
		t.Fatalf("%s is of the servers %v, and one plugin is one server", file, servers)
	}
	var out bytes.Buffer
	w := recording.NewWriter(&out, "test")
	again := &Plugin{recording.Client(w, recording.Source{Server: rec.Servers()[0]}, p.AdapterClient), p.Process}
	calls := 0
	for _, e := range rec.Entries {
		if e.Kind != recording.CallTool {
			continue
		}
		calls++
		again.replay(t, &e)
	}
	if calls == 0 {
		t.Fatalf("%s has no calls", file)
	}
	now, err := recording.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("COLLET_UPDATE") == "1" {
		update(t, file, now)
		return
	}
	i := 0
	for _, e := range rec.Entries {
		if e.Kind == recording.CallTool {
			compare(t, file, &e, &now.Entries[i])
			i++
		}
	}
}

// replay makes a recorded call.
func (p *Plugin) replay(t testing.TB, e *recording.Entry) {
	t.Helper()
	stream, err := p.CallTool(Within(t), &adapterpb.CallToolRequest{
		Tool: e.Tool, Arguments: e.Arguments, Meta: e.Meta, CallId: "c", InputResponses: e.InputResponses, RequestState: e.RequestState,
	})
	for err == nil {
		_, err = stream.Recv() // what it says is in the new recording
	}
}

// update writes the calls anew, without times and durations, which differ each time.
func update(t testing.TB, file string, now *recording.Recording) {
	t.Helper()
	var out bytes.Buffer
	w := recording.NewWriter(&out, "")
	for _, e := range now.Entries {
		e.MS = 0
		if err := w.Add(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compare holds the end of a call against what was recorded.
func compare(t testing.TB, file string, want, got *recording.Entry) {
	t.Helper()
	type end struct {
		Result, Input, State, Class string
		IsError                     bool
	}
	of := func(e *recording.Entry) (x end) {
		x.Result, x.IsError = string(e.Result), e.IsError
		if e.Input != nil {
			x.Input, x.State = string(e.Input.Requests), e.Input.State
		}
		if e.Failure != nil {
			x.Class = e.Failure.Class
		}
		return x
	}
	w, g := of(want), of(got)
	if w == g {
		return
	}
	show := func(x end, e *recording.Entry) string {
		b, _ := json.Marshal(x) // strings and a bool
		if e.Failure != nil {
			return string(b) + ": " + e.Failure.Message
		}
		return string(b)
	}
	t.Errorf("%s: %s %s\nwas recorded with %s\nand ends now with  %s", file, want.Tool, want.Arguments, show(w, want), show(g, got))
}
