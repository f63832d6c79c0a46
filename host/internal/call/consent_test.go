package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/consent"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// guarded is a pipeline to a server that answers, and what it tells of calls.
type guarded struct {
	*Pipeline
	peer  *peer
	tool  *catalog.Tool
	store *consent.Store
	told  []Event
}

func newGuarded(t *testing.T, words config.Consent, adapterAsks bool) *guarded {
	g := &guarded{peer: newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) { return answer(`{}`), nil })}
	g.peer.set.Consent = words
	g.tool = catalog.New("s", catalog.Offer{Name: "t", Definition: []byte(plain), AsksConsent: adapterAsks})
	g.store = &consent.Store{Dir: filepath.Join(t.TempDir(), "consent")}
	g.Pipeline = &Pipeline{
		Find:     func(context.Context, string) (*catalog.Tool, Server, error) { return g.tool, g.peer, nil },
		Finished: func(e Event) { g.told = append(g.told, e) },
		Log:      slog.New(slog.DiscardHandler), Consents: g.store, Run: "run",
	}
	return g
}

func ask() config.Consent { return config.Consent{Default: "ask"} }

// saying is a Consenter that always says that, and counts.
func saying(a Answer, asked *int) Consenter {
	return func(context.Context, Question) (Answer, error) { *asked++; return a, nil }
}

func classOf(err error) failure.Class {
	var f *Failure
	if errors.As(err, &f) {
		return f.Class
	}
	return ^failure.Class(0) // none
}

func TestConsent(t *testing.T) {
	words := map[string]config.Consent{
		"nothing said": {}, "allow": {Default: "allow"}, "ask": ask(), "deny": {Default: "deny"},
		"allow for this": {Default: "deny", Tools: []config.ConsentRule{{Pattern: "*", Consent: "ask"}, {Pattern: "t", Consent: "allow"}}},
		"deny for these": {Default: "allow", Tools: []config.ConsentRule{{Pattern: "x", Consent: "ask"}, {Pattern: "t*", Consent: "deny"}}},
	}
	for name, word := range words {
		for _, adapterAsks := range []bool{false, true} {
			for _, caller := range []exposure.Caller{exposure.Model, exposure.Script, exposure.CLI, exposure.Program} {
				for _, said := range []string{"yes", "no", "always", "nobody", "error"} {
					t.Run(fmt.Sprint(name, adapterAsks, caller, said), func(t *testing.T) {
						g, asked := newGuarded(t, word, adapterAsks), 0
						req := Request{Tool: "s/t", Caller: caller}
						switch said {
						case "yes":
							req.Consent = saying(Answer{Yes: true}, &asked)
						case "always":
							req.Consent = saying(Answer{Yes: true, Always: true}, &asked)
						case "no":
							req.Consent = saying(Answer{Always: true}, &asked)
						case "error":
							req.Consent = func(context.Context, Question) (Answer, error) { asked++; return Answer{Yes: true}, errors.New("gone") }
						}
						effect := strings.Fields(name)[0]
						if name == "nothing said" {
							effect = map[bool]string{true: "ask", false: "allow"}[adapterAsks]
						}
						_, err := g.Do(t.Context(), req)
						wantAsked, wantSent, outcome := 0, 1, ""
						switch {
						case effect == "deny":
							wantSent, outcome = 0, ConsentDenied
						case effect == "ask":
							wantAsked, outcome = 1, ConsentGiven
							switch said {
							case "no":
								wantSent, outcome = 0, ConsentRefused
							case "nobody":
								wantAsked, wantSent, outcome = 0, 0, ConsentUnanswered
							case "error":
								wantSent, outcome = 0, ConsentUnanswered
							}
						}
						if asked != wantAsked || g.peer.dos != wantSent || g.told[0].Consent != outcome {
							t.Errorf("asked %d times, sent %d times, outcome %q; want %d, %d, %q", asked, g.peer.dos, g.told[0].Consent, wantAsked, wantSent, outcome)
						}
						if wantSent == 1 {
							if err != nil {
								t.Error(err)
							}
							return
						}
						if f := err.(*Failure); f.Class != failure.ConsentRequired || f.Delivery != failure.NotSent || f.Attempts != 0 || g.peer.starts != 0 {
							t.Errorf("%+v, %d starts", f, g.peer.starts)
						}
					})
				}
			}
		}
	}
}

// What was answered counts for later calls as far as it was meant to.
func TestWhatStands(t *testing.T) {
	for name, c := range map[string]struct {
		words   config.Consent
		adapter bool
		first   Answer
		change  func(*guarded, *Request)
		again   bool // somebody is asked
	}{
		"a yes":                           {words: ask(), first: Answer{Yes: true}, again: true},
		"always":                          {words: ask(), first: Answer{Yes: true, Always: true}},
		"an adapter's question":           {adapter: true, first: Answer{Yes: true}},
		"in another session":              {adapter: true, first: Answer{Yes: true}, change: func(_ *guarded, r *Request) { r.Session = "2" }, again: true},
		"in another process":              {adapter: true, first: Answer{Yes: true}, change: func(g *guarded, _ *Request) { g.Run = "other" }, again: true},
		"always, in another process":      {words: ask(), first: Answer{Yes: true, Always: true}, change: func(g *guarded, _ *Request) { g.Run = "other" }},
		"always, of another principal":    {words: ask(), first: Answer{Yes: true, Always: true}, change: func(_ *guarded, r *Request) { r.Owner = "token:b" }, again: true},
		"always, to another definition":   {words: ask(), first: Answer{Yes: true, Always: true}, change: (*guarded).redefine, again: true},
		"always, of another server entry": {words: ask(), first: Answer{Yes: true, Always: true}, change: func(g *guarded, _ *Request) { g.peer.set.Command = "other" }, again: true},
		"always, revoked": {words: ask(), first: Answer{Yes: true, Always: true}, change: func(g *guarded, _ *Request) {
			_, _ = g.store.Revoke(context.Background(), "s/*", time.Now())
		}, again: true},
		"a session's, revoked": {adapter: true, first: Answer{Yes: true}, change: func(g *guarded, _ *Request) {
			_, _ = g.store.Revoke(context.Background(), "", time.Now())
		}, again: true},
		"revoked for others": {words: ask(), first: Answer{Yes: true, Always: true}, change: func(g *guarded, _ *Request) {
			_, _ = g.store.Revoke(context.Background(), "s/x*", time.Now())
		}},
		// What the adapter's question was told does not answer the configuration's.
		"of a session, then ask": {adapter: true, first: Answer{Yes: true}, change: func(g *guarded, _ *Request) { g.peer.set.Consent = ask() }, again: true},
		"always, then deny":      {words: ask(), first: Answer{Yes: true, Always: true}, change: func(g *guarded, _ *Request) { g.peer.set.Consent.Default = "deny" }},
	} {
		t.Run(name, func(t *testing.T) {
			g, asked := newGuarded(t, c.words, c.adapter), 0
			req := Request{Tool: "s/t", Session: "1", Consent: saying(c.first, &asked)}
			if _, err := g.Do(t.Context(), req); err != nil || asked != 1 {
				t.Fatalf("%v, asked %d times", err, asked)
			}
			if c.change != nil {
				c.change(g, &req)
			}
			_, err := g.Do(t.Context(), req)
			if again := asked == 2; again != c.again {
				t.Errorf("asked again: %v", again)
			}
			denied := g.peer.set.Consent.Default == "deny"
			if denied != (classOf(err) == failure.ConsentRequired) || g.peer.dos == 2 == denied {
				t.Errorf("%v, sent %d times", err, g.peer.dos)
			}
			if !c.again && !denied && g.told[1].Consent != ConsentStanding {
				t.Errorf("told %q", g.told[1].Consent)
			}
		})
	}
}

func (g *guarded) redefine(*Request) {
	g.tool = catalog.New("s", catalog.Offer{Name: "t", Definition: []byte(`{"name":"t","inputSchema":{"type":"object"},"description":"new"}`)})
}

// A person is asked once for a call, however often it is tried, with what is sent,
// for as long as they need, and not about what cannot be sent.
func TestOneQuestionForACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, ask(), false)
		g.peer.do = func(_ context.Context, attempt int, _ *server.Request) (*server.Answer, error) {
			if attempt == 1 {
				return nil, failing(failure.ConnectionRefused, failure.NotSent, 0)
			}
			return answer(`{}`), nil
		}
		var asked []Question
		consenter := func(_ context.Context, q Question) (Answer, error) {
			asked = append(asked, q)
			time.Sleep(g.peer.limits.MaxTimeout + time.Second)
			return Answer{Yes: true}, nil
		}
		res, err := g.Do(t.Context(), Request{Tool: "s/t", Arguments: json.RawMessage(`{"n":1.0}`), Consent: consenter, Caller: exposure.CLI})
		if err != nil || res.Attempts != 2 {
			t.Fatalf("%+v %v", res, err)
		}
		if len(asked) != 1 || asked[0].Server != "s" || asked[0].Tool != "t" || string(asked[0].Arguments) != `{"n":1.0}` || asked[0].Owner != "local" || asked[0].Caller != exposure.CLI || asked[0].Adapter {
			t.Errorf("asked %+v", asked)
		}
		_, err = g.Do(t.Context(), Request{Tool: "s/t", Arguments: json.RawMessage(`[]`), Consent: consenter})
		if classOf(err) != failure.InvalidArguments || len(asked) != 1 {
			t.Errorf("%v, asked %d times", err, len(asked))
		}
	})
}

// Nobody waits for ever, and who gives up has canceled.
func TestNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  failure.Class
	}{"nobody answers": {time.Hour, failure.ConsentRequired}, "the caller leaves": {time.Minute, failure.Canceled}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, ask(), false)
				ctx, cancel := context.WithTimeout(t.Context(), c.after)
				defer cancel()
				_, err := g.Do(ctx, Request{Tool: "s/t", Consent: func(ctx context.Context, _ Question) (Answer, error) {
					<-ctx.Done()
					return Answer{Yes: true}, nil // too late
				}})
				if classOf(err) != c.want || g.peer.dos != 0 || g.told[0].Consent != ConsentUnanswered {
					t.Errorf("%v, sent %d times, %q", err, g.peer.dos, g.told[0].Consent)
				}
			})
		})
	}
}

// Calls of one tool ask one after the other: an answer may be one to all of them.
func TestCallsSideBySide(t *testing.T) {
	g := newGuarded(t, ask(), false)
	g.Finished = nil
	var mu sync.Mutex
	g.peer.do = func(context.Context, int, *server.Request) (*server.Answer, error) { return answer(`{}`), nil }
	asked, open := 0, 0
	consenter := func(context.Context, Question) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; open != 0 {
			t.Error("two questions at once")
		}
		return Answer{Yes: true, Always: asked == 2}, nil
	}
	var calls sync.WaitGroup
	g.Find = func(context.Context, string) (*catalog.Tool, Server, error) {
		peer := newPeer(g.peer.do)
		peer.set = g.peer.set
		return g.tool, peer, nil
	}
	for range 8 {
		calls.Go(func() {
			if _, err := g.Do(t.Context(), Request{Tool: "s/t", Consent: consenter}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if asked != 2 || len(g.turns.of) != 0 {
		t.Errorf("asked %d times, %d turns are left", asked, len(g.turns.of))
	}
}

// A call that the upstream answers with a question goes on without another one of
// ours, if it is the same call.
func TestConsentGoesOnBehindAnUpstreamsQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request)
		asked  int
	}{
		"the same":            {func(*Request) {}, 1},
		"spelled differently": {func(r *Request) { r.Arguments = json.RawMessage(`{ "a": 1 }`) }, 1},
		"other arguments":     {func(r *Request) { r.Arguments = json.RawMessage(`{"a":2}`) }, 2},
		"other state":         {func(r *Request) { r.RequestState = "made up" }, 2},
		"somebody else's":     {func(r *Request) { r.Owner = "eve" }, 2},
		"no answer":           {func(r *Request) { r.RequestState, r.InputResponses = "", nil }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g, asked := newGuarded(t, ask(), false), 0
			g.peer.do = func(_ context.Context, _ int, r *server.Request) (*server.Answer, error) {
				if r.RequestState == "" {
					return &server.Answer{Input: &server.InputRequired{Requests: []byte(`{"q":{}}`), State: "st"}}, nil
				}
				return answer(`{}`), nil
			}
			req := Request{Tool: "s/t", Arguments: json.RawMessage(`{"a":1}`), AcceptInput: true, Consent: saying(Answer{Yes: true}, &asked)}
			res, err := g.Do(t.Context(), req)
			if err != nil || res.Input == nil {
				t.Fatalf("%+v %v", res, err)
			}
			req.RequestState, req.InputResponses = res.Input.State, json.RawMessage(`{"q":{}}`)
			c.change(&req)
			if _, err := g.Do(t.Context(), req); err != nil || asked != c.asked {
				t.Errorf("%v, asked %d times, want %d", err, asked, c.asked)
			}
			if c.asked > 1 {
				return
			}
			// It counts once.
			if _, err := g.Do(t.Context(), req); err != nil || asked != 2 {
				t.Errorf("%v, asked %d times when it came again", err, asked)
			}
		})
	}
}

// An MCP client is asked with a form.
func TestElicitedConsent(t *testing.T) {
	for answer, want := range map[string]string{
		`{"action":"accept"}`:                              ConsentGiven,
		`{"action":"accept","content":{}}`:                 ConsentGiven,
		`{"action":"accept","content":{"always":true}}`:    ConsentGiven,
		`{"action":"decline"}`:                             ConsentRefused,
		`{"action":"decline","content":{"always":true}}`:   ConsentRefused,
		`{"action":"cancel"}`:                              ConsentUnanswered,
		`{}`:                                               ConsentUnanswered,
		`{"action":"Accept"}`:                              ConsentUnanswered,
		`{"action":"accept ","content":{"always":"true"}}`: ConsentUnanswered,
	} {
		g := newGuarded(t, ask(), false)
		var method, params string
		_, err := g.Do(t.Context(), Request{Tool: "s/t", Arguments: json.RawMessage("{\"a\":\"\u202e<\", \"n\": 1.0}"), Caller: exposure.Model, Ask: func(_ context.Context, m string, p json.RawMessage) (json.RawMessage, error) {
			method, params = m, string(p)
			return json.RawMessage(answer), nil
		}})
		if g.told[0].Consent != want || (err == nil) != (want == ConsentGiven) || g.peer.dos != map[bool]int{true: 1}[err == nil] {
			t.Errorf("%s: %q, %v, sent %d times", answer, g.told[0].Consent, err, g.peer.dos)
		}
		if method != "elicitation/create" || !json.Valid([]byte(params)) || !strings.Contains(params, `the tool t of the server s with the arguments\n{\"a\":\"\\u202e<\",\"n\":1.0}\n`) {
			t.Errorf("%s %s", method, params)
		}
		if standing, err := g.store.Standing(); err != nil || len(standing) == 1 != (strings.Contains(answer, "true") && want == ConsentGiven) {
			t.Errorf("%s: %v stands, %v", answer, standing, err)
		}
	}
	g := newGuarded(t, ask(), false)
	_, err := g.Do(t.Context(), Request{Tool: "s/t", Caller: exposure.Model, Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, failure.New(failure.InvalidArguments, failure.NotSent, "not declared")
	}})
	if err == nil || !strings.Contains(err.Error(), "this client takes no questions (elicitation); nothing was sent") || !strings.Contains(err.Error(), "in a terminal") || g.peer.dos != 0 {
		t.Error(err)
	}
	// What is said in a terminal does not stand for a token.
	_, err = g.Do(t.Context(), Request{Tool: "s/t", Caller: exposure.Model, Owner: "token:a"})
	if err == nil || strings.Contains(err.Error(), "in a terminal") || !strings.Contains(err.Error(), `Set consent = "allow"`) {
		t.Error(err)
	}
}

// A consent that cannot be kept does not count.
func TestConsentThatCannotBeRecorded(t *testing.T) {
	g, asked := newGuarded(t, ask(), false), 0
	g.store.Dir = "not/absolute"
	_, err := g.Do(t.Context(), Request{Tool: "s/t", Consent: saying(Answer{Yes: true}, &asked)})
	if classOf(err) != failure.ConsentRequired || g.peer.dos != 0 {
		t.Errorf("%v, sent %d times", err, g.peer.dos)
	}
}

func TestRecordOfConsent(t *testing.T) {
	for _, keep := range []bool{false, true} {
		g, asked := newGuarded(t, ask(), false), 0
		g.KeepArguments = keep
		if _, err := g.Do(t.Context(), Request{Tool: "s/t", Owner: "token:ci", Session: "se", Caller: exposure.Model, Arguments: json.RawMessage(`{"secret": 1.0}`), Consent: saying(Answer{Yes: true, By: "x"}, &asked)}); err != nil {
			t.Fatal(err)
		}
		all, err := g.store.Records()
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		r := all[0]
		if r.Decision != consent.Once || r.Principal != "token:ci" || r.Caller != "model" || r.By != "x" || r.Server != "s" || r.Tool != "t" || r.Session != "run/se" ||
			r.Call != g.told[0].ID || r.ArgumentBytes != 15 || len(r.ArgumentsSum) != 64 || len(r.Definition) != 64 || len(r.Entry) != 64 || time.Since(r.Time) > time.Minute {
			t.Errorf("%+v", r)
		}
		if got := string(r.Arguments); got != map[bool]string{true: `{"secret":1.0}`}[keep] {
			t.Errorf("arguments %q", got)
		}
	}
}

// What an adapter had a person asked about is on record as it was, whatever they said,
// as far as it is not too long.
func TestRecordOfWhatTheAdapterAsks(t *testing.T) {
	exact, long := `{"question":"who <knows> \u202e 1.0?"}`, `{"question":"`+strings.Repeat("w", maxKeptArguments)+`?"}`
	for _, words := range []config.Consent{{}, ask()} {
		for _, arguments := range []string{exact, long} {
			for _, yes := range []bool{true, false} {
				g, asked := newGuarded(t, words, true), 0
				_, err := g.Do(t.Context(), Request{Tool: "s/t", Arguments: json.RawMessage(arguments), Consent: saying(Answer{Yes: yes}, &asked)})
				if yes == (err != nil) || asked != 1 {
					t.Fatalf("asked %d times, %v", asked, err)
				}
				all, err := g.store.Records()
				if err != nil || len(all) != 1 {
					t.Fatal(all, err)
				}
				r := all[0]
				if arguments == exact && (string(r.Arguments) != exact || r.Shown != "") {
					t.Errorf("recorded %s, %q", r.Arguments, r.Shown)
				}
				if q := (&Question{Arguments: json.RawMessage(long)}); arguments == long && (r.Arguments != nil || r.Shown != q.Shown() || len(r.Shown) > 2*maxShown) {
					t.Errorf("recorded %d bytes and %q", len(r.Arguments), r.Shown)
				}
				if len(r.ArgumentsSum) != 64 || r.ArgumentBytes != len(arguments) {
					t.Errorf("%+v", r)
				}
			}
		}
	}
}

func TestShown(t *testing.T) {
	long := `{"a":"` + strings.Repeat("é", maxShown) + `","tail":1}`
	for arguments, want := range map[string]string{
		`{ "a" : 1.0 , "b":[ ] }`:                        `{"a":1.0,"b":[]}`,
		"{\"a\":\"\u0085\u200b\u2028\u202e\U000e0041\"}": `{"a":"\u0085\u200b\u2028\u202e\udb40\udc41"}`,
	} {
		q := Question{Arguments: json.RawMessage(arguments)}
		if got := q.Shown(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	q := Question{Arguments: json.RawMessage(long)}
	if got := q.Shown(); len(got) > maxShown+64 || !strings.HasPrefix(got, `{"a":"é`) || !strings.HasSuffix(got, `é","tail":1}`) || !strings.Contains(got, " bytes left out) ") {
		t.Errorf("%.40s ... %s", got, got[len(got)-40:])
	}
}
