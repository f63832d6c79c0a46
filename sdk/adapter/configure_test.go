package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

type settings struct {
	Token string `json:"token,omitempty" collet:"secret"`
	Key   string `json:"key,omitempty" collet:"public"`
	Depth int    `json:"depth,omitempty"`
}

// flexible takes new settings, and counts its closes.
type flexible struct {
	fake
	got    chan string
	closes atomic.Int32
}

func (f *flexible) Reconfigure(_ context.Context, config json.RawMessage) error {
	if string(config) == `{"depth":13}` {
		return failure.New(failure.AuthFailure, failure.Answered, "not 13")
	}
	f.got <- string(config)
	return nil
}

func (f *flexible) Close() error { f.closes.Add(1); return nil }

func TestReconfigure(t *testing.T) {
	f := &flexible{got: make(chan string, 1)}
	var opened atomic.Int32
	c, svc := serveProgram(t, func(context.Context, *Env, settings) (Server, error) { opened.Add(1); return f, nil })
	mustConfigure(t, c, `{"depth":1}`)
	if resp := mustConfigure(t, c, `{"depth":2}`); resp.RestartRequired || <-f.got != `{"depth":2}` {
		t.Errorf("%v", resp)
	}
	for config, class := range map[string]failure.Class{`{"depth":"x"}`: failure.InvalidArguments, `{"depth":13}`: failure.AuthFailure} {
		_, err := c.Configure(t.Context(), &adapterpb.ConfigureRequest{Config: []byte(config)})
		if g := failure.FromStatus(err); g == nil || g.Class != class {
			t.Errorf("%s: %v, want %v", config, err, class)
		}
	}
	svc.close()
	svc.close()
	if opened.Load() != 1 || f.closes.Load() != 1 {
		t.Errorf("opened %d times, closed %d times", opened.Load(), f.closes.Load())
	}
}

func TestRestartRequired(t *testing.T) {
	c, _ := serveProgram(t, func(context.Context, *Env, settings) (Server, error) { return &fake{}, nil })
	mustConfigure(t, c, `{"depth":1}`)
	if resp := mustConfigure(t, c, ` {"depth":1} `); resp.RestartRequired {
		t.Error("the same settings want a restart")
	}
	if resp := mustConfigure(t, c, `{"depth":2}`); !resp.RestartRequired {
		t.Error("a server that cannot take new settings says nothing")
	}
}

func TestOpenFails(t *testing.T) {
	var duplicate, wrong Tools
	hi := func(context.Context, *Call, struct{}) (string, error) { return "", nil }
	Add(&duplicate, "hi", "", hi)
	Add(&duplicate, "hi", "", hi)
	Add(&wrong, "hi", "", func(context.Context, *Call, string) (string, error) { return "", nil })
	tests := map[string]struct {
		server Server
		err    error
		class  failure.Class
	}{
		"plain":     {nil, errors.New("no"), failure.Unknown},
		"failure":   {nil, failure.New(failure.DNSFailure, failure.NotSent, "no"), failure.DNSFailure},
		"nothing":   {nil, nil, failure.ServerError},
		"duplicate": {&duplicate, nil, failure.ServerError},
		"wrong":     {&wrong, nil, failure.ServerError},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := serveProgram(t, func(context.Context, *Env, struct{}) (Server, error) { return test.server, test.err })
			_, err := c.Configure(t.Context(), &adapterpb.ConfigureRequest{})
			f := failure.FromStatus(err)
			if f == nil || f.Class != test.class {
				t.Errorf("%v, want %v", err, test.class)
			}
		})
	}
}

func TestOpenPanics(t *testing.T) {
	c, _ := serveProgram(t, func(context.Context, *Env, struct{}) (Server, error) { panic("boom") })
	for range 2 { // the lock is free again
		_, err := c.Configure(t.Context(), &adapterpb.ConfigureRequest{})
		if f := failure.FromStatus(err); f == nil || f.Class != failure.ServerError || f.Origin != failure.OriginAdapter {
			t.Errorf("got %v", err)
		}
	}
}

// What open starts with its context outlives Configure; a host that gives up
// ends it.
func TestOpenContext(t *testing.T) {
	contexts := make(chan context.Context, 1)
	f := &flexible{}
	c, svc := serveProgram(t, func(ctx context.Context, _ *Env, cfg settings) (Server, error) {
		contexts <- ctx
		if cfg.Depth == 1 {
			<-ctx.Done()
		}
		return f, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.Configure(ctx, &adapterpb.ConfigureRequest{Config: []byte(`{"depth":1}`)})
		done <- err
	}()
	<-contexts
	cancel()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	mustConfigure(t, c, `{"depth":2}`)
	if f.closes.Load() != 1 {
		t.Errorf("the server nobody waited for was closed %d times", f.closes.Load())
	}
	life := <-contexts
	if life.Err() != nil {
		t.Error("the context ended with Configure")
	}
	svc.close()
	if life.Err() == nil {
		t.Error("the context outlives the process")
	}
}

func TestConfigSchema(t *testing.T) {
	described := func(p *program, err error) (string, error) {
		if err != nil {
			return "", err
		}
		d, err := p.describe()
		if err != nil {
			return "", err
		}
		resp, err := p.response()
		if err != nil || string(resp.GetConfigSchema()) != string(d.ConfigSchema) {
			t.Errorf("the RPC says %s, %v; the command %s", resp.GetConfigSchema(), err, d.ConfigSchema)
		}
		return string(d.ConfigSchema), nil
	}
	p, err := newProgram(Info{Name: "x"}, func(context.Context, *Env, settings) (Server, error) { return nil, nil })
	const want = `{"type":"object","properties":{"token":{"type":"string","x-collet-secret":true},"key":{"type":"string","x-collet-secret":false},"depth":{"type":"integer"}},"additionalProperties":false}`
	if got, err := described(p, err); err != nil || got != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	p, err = newProgram(Info{Name: "x"}, func(context.Context, *Env, struct{}) (Server, error) { return nil, nil })
	if got, err := described(p, err); err != nil || got != `{"type":"object","additionalProperties":false}` {
		t.Errorf("%v, %s", err, got)
	}
	own := json.RawMessage(`{"type": "object", "required": ["a"]}`)
	p, err = newProgram(Info{Name: "x", ConfigSchema: own}, func(context.Context, *Env, json.RawMessage) (Server, error) { return nil, nil })
	if got, err := described(p, err); err != nil || got != string(own) {
		t.Errorf("%v, %s", err, got)
	}
	if p.check(json.RawMessage(`{"a":1}`)) != nil || p.check(json.RawMessage(`{}`)) == nil {
		t.Error("Info.ConfigSchema is not what configs are checked against")
	}
	if _, err := newProgram(Info{Name: "x"}, func(context.Context, *Env, chan int) (Server, error) { return nil, nil }); err == nil {
		t.Error("a config type without a schema was taken")
	}
	if _, err := newProgram(Info{}, func(context.Context, *Env, struct{}) (Server, error) { return nil, nil }); err == nil {
		t.Error("a plugin without a name was taken")
	}
}
