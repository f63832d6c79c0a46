package hook

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
)

// The cases of RFC 7396, appendix A, and what it leaves open: order and numbers.
func TestMerge(t *testing.T) {
	for _, test := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"z":1.0,"a":12345678901234567890,"<":"&"}`, `{"z":{"b":1e2}}`, `{"z":{"b":1e2},"a":12345678901234567890,"<":"&"}`},
	} {
		got, err := merge(json.RawMessage(test.target), json.RawMessage(test.patch))
		if err != nil || string(got) != test.want {
			t.Errorf("%s + %s = %s, %v; want %s", test.target, test.patch, got, err, test.want)
		}
	}
	for _, bad := range []string{``, `{`, `{"a":}`, `{} {}`, `{"a":{"b":}}`} {
		if got, err := merge(json.RawMessage(`{}`), json.RawMessage(bad)); err == nil {
			t.Errorf("%q gives %s", bad, got)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":[1.0]}}`))
	f.Add([]byte(`7`), []byte(`{"a":null}`))
	f.Fuzz(func(t *testing.T, target, patch []byte) {
		got, err := merge(target, patch)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s + %s = %s", target, patch, got)
		}
	})
}

func TestServers(t *testing.T) {
	s := readServers(&hookpb.EditServersRequest{Servers: []*hookpb.Server{
		{Name: "a", Entry: []byte(`{"command":"x","args":["1"]}`)}, {Name: "b", Entry: []byte(`{"url":"https://x"}`)},
	}})
	if err := s.Set("c", json.RawMessage(`{"plugin":"p"}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Update("a", json.RawMessage(`{"args":null,"timeout":"5s"}`)); err != nil {
		t.Fatal(err)
	}
	if !s.Remove("b") || s.Remove("b") || s.Remove("none") {
		t.Error("remove")
	}
	if got := s.List(); !reflect.DeepEqual(got, []string{"a", "c"}) {
		t.Errorf("%v", got)
	}
	if e, ok := s.Get("a"); !ok || string(e) != `{"command":"x","timeout":"5s"}` {
		t.Errorf("%s", e)
	}
	if len(s.edits) != 3 { // what changed nothing is no edit
		t.Errorf("%v", s.edits)
	}
	for _, err := range []error{s.Set("d", json.RawMessage(`[]`)), s.Set("d", nil), s.Update("b", json.RawMessage(`{}`)), s.Update("a", json.RawMessage(`{`)), s.Update("a", json.RawMessage(`7`))} {
		if err == nil {
			t.Error("no error")
		}
	}
}

func TestTools(t *testing.T) {
	tools := &Tools{Server: "s", tools: []*hookpb.Tool{{Name: "a", Definition: []byte(`{"name":"a","x":1.0}`)}}}
	if err := tools.Patch("a", json.RawMessage(`{"description":"d"}`)); err != nil {
		t.Fatal(err)
	}
	if d, _ := tools.Get("a"); string(d) != `{"name":"a","x":1.0,"description":"d"}` {
		t.Errorf("%s", d)
	}
	if err := tools.Patch("b", json.RawMessage(`{}`)); err == nil {
		t.Error("a tool that is not there is patched")
	}
}

// A hook is asked at the points it has methods for.
func TestPoints(t *testing.T) {
	if got := pointsOf[*all](); !reflect.DeepEqual(got, []string{"servers", "tools", "before", "after"}) {
		t.Errorf("%v", got)
	}
	if got := pointsOf[*editor](); !reflect.DeepEqual(got, []string{"servers"}) {
		t.Errorf("%v", got)
	}
	if _, err := newProgram(Info{Name: "x"}, func(context.Context, *Env, struct{}) (struct{}, error) { return struct{}{}, nil }); err == nil {
		t.Error("a hook without a point is none")
	}
}

type editor struct{}

func (*editor) EditServers(context.Context, *Servers) error { return nil }

type all struct{}

func (*all) EditServers(context.Context, *Servers) error                     { return nil }
func (*all) EditTools(context.Context, *Tools) error                         { return nil }
func (*all) Before(context.Context, *Call) (*Verdict, error)                 { return nil, nil }
func (*all) After(context.Context, *Call, json.RawMessage) (*Verdict, error) { return nil, nil }
