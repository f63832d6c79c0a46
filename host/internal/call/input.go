package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// maxRounds bounds how often one call is answered with questions: a dialog has
// fewer, and a server that only ever asks is broken.
const maxRounds = 16

// ask has the caller answer what the tool asks for in place of a result, so that
// the same call can go on (2026-07-28, MRTR). Its time, of which left remains, rests
// meanwhile. State alone needs no answer.
func (w *work) ask(ctx context.Context, left time.Duration) *Failure {
	in := w.answer.Input
	if w.rounds++; w.rounds > maxRounds {
		return unanswered("the tool asked for more input %d times in a row", maxRounds)
	}
	wait, begun := max(questionWait, left), time.Now()
	defer func() { w.rested += time.Since(begun) }()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, &expired{fmt.Sprintf("nobody answered within %s what the tool asked before it goes on", wait.Round(time.Second))})
	defer cancel()
	responses := []byte{'{'}
	var fail *Failure
	gjson.ParseBytes(in.Requests).ForEach(func(key, question gjson.Result) bool {
		var result json.RawMessage
		if result, fail = w.put(ctx, question); fail != nil {
			return false
		}
		if len(responses) > 1 {
			responses = append(responses, ',')
		}
		responses = append(append(append(responses, key.Raw...), ':'), result...)
		return true
	})
	if fail != nil {
		return fail
	}
	w.req.InputResponses, w.req.RequestState = nil, in.State
	if len(responses) > 1 {
		w.req.InputResponses = append(responses, '}')
	}
	return nil
}

// put asks the caller one question. Of a form that could not be shown nobody has
// chosen anything (2025-11-25, client/elicitation, Response Actions).
func (w *work) put(ctx context.Context, question gjson.Result) (json.RawMessage, *Failure) {
	method := question.Get("method").String()
	if w.req.Ask == nil {
		return nil, unanswered("the tool asks for more input before it goes on, and this caller cannot be asked")
	}
	result, err := w.req.Ask(ctx, method, json.RawMessage(question.Get("params").Raw))
	if err == nil && (len(result) == 0 || notObject("", result) != nil) {
		err = errors.New("the answer is no JSON object")
	}
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		f := unanswered("canceled while the caller was asked for more input")
		f.Class = failure.Canceled
		if e, ok := context.Cause(ctx).(*expired); ok {
			f.Class, f.Origin, f.Message = failure.Timeout, failure.OriginHost, e.reason
		}
		return nil, f
	case method == "elicitation/create":
		if f, ok := errors.AsType[*failure.Failure](err); ok && f.Class == failure.ConsentRequired && f.Delivery == failure.NotSent {
			return nil, unanswered("the tool needs an answer before it goes on: %s", f.Message) // nobody saw it
		}
		return json.RawMessage(`{"action":"cancel"}`), nil
	}
	return nil, unanswered("the tool asks for %s before it goes on, and the caller did not answer: %w", method, err)
}

// unanswered is the failure of a call whose tool asked and got no answer.
func unanswered(format string, args ...any) *Failure {
	f := refused(failure.ConsentRequired, format, args...)
	f.Delivery, f.Origin = failure.Answered, failure.OriginUpstream
	return f
}
