package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/consent"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// Question is what a person is asked before a call.
type Question struct {
	Server, Tool string // the tool without its server
	Title        string // of the tool, by its server's word; may be empty
	// Arguments are what is sent if the answer is yes. Not to be changed.
	Arguments json.RawMessage
	Caller    exposure.Caller
	Owner     string // whose credential the call shows
	// Adapter: it is the adapter that wants a person to be asked, once in a session,
	// and not the configuration, before each call.
	Adapter bool
}

// Answer is what the person said. The zero Answer is a no.
type Answer struct {
	Yes bool
	// Always: nobody is to be asked again for this tool, as long as neither it nor its
	// server's entry changes. It counts only with Yes.
	Always bool
	// By is how it was answered, a word for the record. Default: "program".
	By string
}

// Consenter puts a question to a person. It returns soon after ctx has ended. The
// error is that nobody could be asked, and why.
type Consenter func(ctx context.Context, q Question) (Answer, error)

// Consents remembers answers. *consent.Store is one.
type Consents interface {
	Stands(key consent.Key, session string) (bool, error)
	Add(ctx context.Context, r *consent.Record) error
}

// What an Event says of consent; empty where none was needed.
const (
	ConsentGiven      = "given"      // a person said yes to this call
	ConsentStanding   = "standing"   // an earlier yes counts
	ConsentRefused    = "refused"    // a person said no
	ConsentUnanswered = "unanswered" // nobody could be asked, or did not answer
	ConsentDenied     = "denied"     // by the configuration
)

// consentWait bounds the wait for a person, the turn of the question included. It is
// no part of the call's own times.
const consentWait = 10 * time.Minute

// checkConsent refuses what the configuration denies, before anything else is said of
// the call.
func (p *Pipeline) checkConsent(_ context.Context, w *work) *Failure {
	if word, _ := w.set.ConsentFor(w.tool.Name, w.tool.AsksConsent); word != config.ConsentDeny {
		return nil
	}
	w.event.Consent = ConsentDenied
	return refused(failure.ConsentRequired, `calls of this tool are denied (consent = "deny" in mcp.toml); nothing was sent`)
}

// askConsent has a person asked where the configuration or the adapter wants that.
// It comes after the arguments were checked: nobody is asked about a call that would
// not be made.
func (p *Pipeline) askConsent(ctx context.Context, w *work) *Failure {
	word, said := w.set.ConsentFor(w.tool.Name, w.tool.AsksConsent)
	if word == config.ConsentAllow || w.answered {
		return nil
	}
	w.consented = true
	sum := sha256.Sum256(compact(w.req.Arguments))
	if w.goesOn() && p.continued.take(w.continuation(sum, w.req.RequestState)) {
		w.event.Consent = ConsentGiven
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, consentWait)
	defer cancel()
	key := w.consentKey()
	session := p.Run + "/" + w.req.Session
	// One question at a time: the answer to the first may be one to all of them. A
	// script's questions wait for those of the same script alone.
	done, err := p.turns.take(waiting, fmt.Sprintf("%q", []string{key.Principal, session, w.req.Parent, w.req.Tool}))
	if err != nil {
		return w.silent(ctx, "nobody answered within %s", consentWait)
	}
	defer done()
	if fail, stands := p.stands(w, key, session, said); fail != nil || stands {
		return fail
	}
	ask := p.consenter(w)
	if ask == nil {
		return w.silent(ctx, "%s", nobody[w.req.Caller])
	}
	a, err := ask(waiting, Question{
		Server: w.tool.Server, Tool: w.tool.Name, Title: w.tool.Title, Arguments: w.req.Arguments,
		Caller: w.req.Caller, Owner: w.event.Owner, Adapter: !said,
	})
	switch {
	case waiting.Err() != nil:
		return w.silent(ctx, "nobody answered within %s", consentWait)
	case err != nil:
		return w.silent(ctx, "%v", err)
	}
	if fail := p.recordConsent(ctx, w, key, session, said, a, sum); fail != nil {
		return fail
	}
	if !a.Yes {
		w.event.Consent = ConsentRefused
		return refused(failure.ConsentRequired, "the call was refused by the person who was asked; nothing was sent. Do not repeat it unless they want it")
	}
	w.event.Consent = ConsentGiven
	return nil
}

// stands looks for an earlier answer that counts.
func (p *Pipeline) stands(w *work, key consent.Key, session string, said bool) (*Failure, bool) {
	if p.Consents == nil {
		return nil, false
	}
	if said { // the configuration wants each call asked about
		session = ""
	}
	stands, err := p.Consents.Stands(key, session)
	if err != nil {
		w.event.Consent = ConsentUnanswered
		return refused(failure.ConsentRequired, "whether there is a consent cannot be found out: %w; nothing was sent", err), false
	}
	if stands {
		w.event.Consent = ConsentStanding
	}
	return nil, stands
}

// recordConsent keeps the answer. A yes that cannot be recorded does not count.
func (p *Pipeline) recordConsent(ctx context.Context, w *work, key consent.Key, session string, said bool, a Answer, sum [sha256.Size]byte) *Failure {
	if p.Consents == nil {
		return nil
	}
	r := &consent.Record{
		Time: time.Now(), Decision: consent.Once, Key: key, Session: session, Caller: string(w.req.Caller),
		By: a.By, Call: w.event.ID, ArgumentsSum: hex.EncodeToString(sum[:]), ArgumentBytes: len(w.req.Arguments),
	}
	if r.By == "" {
		r.By = "program"
	}
	switch {
	case !a.Yes:
		r.Decision = consent.Refused
	case a.Always:
		r.Decision = consent.Always
	case !said:
		r.Decision = consent.Session
	}
	// What an adapter has a person asked about is what they agreed to. Elsewhere the
	// arguments may hold secrets that nobody expects here.
	if wanted := w.tool.AsksConsent; (wanted || p.KeepArguments) && len(w.req.Arguments) <= maxKeptArguments {
		r.Arguments = compact(w.req.Arguments)
	} else if wanted {
		r.Shown = (&Question{Arguments: w.req.Arguments}).Shown()
	}
	if p.Conceal != nil {
		r.Arguments, r.Shown = p.Conceal(r.Arguments), string(p.Conceal([]byte(r.Shown)))
	}
	// The answer has come, and counts even if its caller has just left.
	if err := p.Consents.Add(context.WithoutCancel(ctx), r); err != nil && a.Yes {
		w.event.Consent = ConsentUnanswered
		return refused(failure.ConsentRequired, "the consent cannot be recorded, and does not count: %w; nothing was sent", err)
	} else if err != nil {
		p.Log.Warn("a refusal is not recorded", "server", key.Server, "tool", key.Tool, "error", err)
	}
	return nil
}

// maxKeptArguments bounds the arguments in a record, in bytes.
const maxKeptArguments = 64 << 10

// consenter is who can be asked, nil for nobody.
func (p *Pipeline) consenter(w *work) Consenter {
	switch {
	case w.req.Consent != nil:
		return w.req.Consent
	case p.Consent != nil:
		return p.Consent
	case w.req.Ask != nil:
		return elicit(w.req.Ask)
	}
	return nil
}

// nobody says why a caller cannot be asked.
var nobody = map[exposure.Caller]string{
	exposure.Model:   "this client takes no questions (elicitation)",
	exposure.Script:  "the one who runs the script takes no questions",
	exposure.Program: "the program has set no Consent",
	exposure.CLI:     "there is nobody to ask",
}

// silent is the failure of a question without an answer.
func (w *work) silent(ctx context.Context, format string, args ...any) *Failure {
	w.event.Consent = ConsentUnanswered
	if ctx.Err() != nil {
		return refused(failure.Canceled, "canceled while a person was asked for consent; nothing was sent")
	}
	advice := "Set"
	if w.event.Owner == results.Local { // for others the terminal's "always" does not stand
		advice = "Call it with 'collet tools call' in a terminal and answer \"always\", or set"
	}
	return refused(failure.ConsentRequired, "a person has to agree to calls of this tool, and %s; nothing was sent. %s consent = \"allow\" for it in mcp.toml",
		fmt.Sprintf(format, args...), advice)
}

// consentKey is what a consent to this call would be for.
func (w *work) consentKey() consent.Key {
	definition := sha256.Sum256(w.tool.Definition)
	return consent.Key{
		Server: w.tool.Server, Tool: w.tool.Name, Principal: w.event.Owner,
		Entry: server.EntrySum(w.set), Definition: hex.EncodeToString(definition[:]),
	}
}

// goesOn reports whether the request answers a question of the upstream.
func (w *work) goesOn() bool { return len(w.req.InputResponses) > 0 || w.req.RequestState != "" }

// continuation stands for the request that goes on with this call behind a question
// of the upstream that has state.
func (w *work) continuation(arguments [sha256.Size]byte, state string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %x", []string{w.event.Owner, w.req.Session, w.req.Tool, w.consentKey().Definition, state}, arguments))
}

// noteContinuation has the request that answers the upstream's question go on without
// another consent: it is the same call.
func (p *Pipeline) noteContinuation(w *work, state string) {
	if w.consented {
		p.continued.put(w.continuation(sha256.Sum256(compact(w.req.Arguments)), state), time.Now())
	}
}

// continuations are the calls with consent whose caller answers a question first.
type continuations struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]time.Time
}

const (
	maxContinuations = 1024      // above it new ones need another consent
	continuationLife = time.Hour // a person fills in a form
)

func (c *continuations) put(key [sha256.Size]byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[[sha256.Size]byte]time.Time{}
	}
	for k, since := range c.of {
		if now.Sub(since) > continuationLife {
			delete(c.of, k)
		}
	}
	if len(c.of) < maxContinuations {
		c.of[key] = now
	}
}

// take reports whether there is one, which counts once.
func (c *continuations) take(key [sha256.Size]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.of[key]
	delete(c.of, key)
	return ok && time.Since(since) <= continuationLife
}

// turns let one at a time go on for each key.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

type turn struct {
	token chan struct{} // capacity 1: it is somebody's turn
	users int           // who has it or waits for it
}

func (t *turns) take(ctx context.Context, key string) (done func(), err error) {
	t.mu.Lock()
	one := t.of[key]
	if one == nil {
		one = &turn{token: make(chan struct{}, 1)}
		if t.of == nil {
			t.of = map[string]*turn{}
		}
		t.of[key] = one
	}
	one.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.of, key)
		}
	}
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
