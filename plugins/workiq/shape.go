package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/collet-dev/collet/plugins/workiq/internal/truth"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// acceptEULA is a person's act: no caller sees it.
const acceptEULA = "accept_eula"

// tool is what is known of a tool that is offered.
type tool struct {
	// reads says that it changes nothing, so that it may be called twice. A question
	// to an agent begins or goes on with a conversation, and some agents act.
	reads bool
	ask   bool // it answers in words
}

// offered are the tools of the server that are passed on: those that read. All others
// are not, those that it has from the organisation after the sign-in included:
// they create, update, delete and act at once.
var offered = map[string]tool{
	"ask":          {ask: true},
	"ask_work_iq":  {ask: true}, // ask, up to 0.4
	"list_agents":  {reads: true},
	"fetch":        {reads: true},
	"search_paths": {reads: true},
	"get_schema":   {reads: true},
}

var answerSchema = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","description":"in Markdown"},` +
	`"conversationId":{"type":"string","description":"given to ask again, goes on with this conversation"}},"required":["answer"]}`)

// answer is what answerSchema describes.
type answer struct {
	Answer         string `json:"answer"`
	ConversationID string `json:"conversationId,omitempty"`
}

// shape is what is known of Work IQ's server.
func (c config) shape() mcpadapter.Shape {
	advice := truth.Advice{
		Licence: "read " + licence + `, then run "` + c.spelled("accept-eula") + `" yourself, or set config = { accept_eula = true } for this server`,
		SignIn:  c.spelled("auth login"),
	}
	return mcpadapter.Shape{
		Edit: edit,
		Admit: func(_ context.Context, call *adapter.Call) error {
			if _, ok := offered[call.Tool]; !ok {
				return failure.New(failure.NotFound, failure.NotSent, "%s is not offered: this adapter passes on only what reads", call.Tool)
			}
			return nil
		},
		Judge: func(call *adapter.Call, res *adapter.Result) (*adapter.Result, error) {
			return judge(call.Tool, res, advice)
		},
		Explain: func(f *failure.Failure) {
			if known := truth.Of(f.Message, advice); known != nil && f.Delivery == failure.Answered {
				f.Class, f.Delivery, f.Message, f.Err = known.Class, known.Delivery, known.Message, known.Err
			}
		},
	}
}

func edit(t adapter.Tool) (adapter.Tool, bool) {
	known, ok := offered[t.Name]
	if !ok {
		return t, false
	}
	t.Definition = mcpadapter.Without(t.Definition, "icons", "_meta")
	t.AsksConsent = true
	t.ReadOnly, t.Idempotent = new(known.reads), new(known.reads)
	if known.ask {
		t.Definition = mcpadapter.Without(t.Definition, "outputSchema")
		t.OutputSchema = answerSchema
	}
	return t, true
}

// judge reads an answer of the server. What it says of itself is often not so: a
// failure comes as an answer, or as null.
func judge(name string, res *adapter.Result, advice truth.Advice) (*adapter.Result, error) {
	text := mcpadapter.Text(res.JSON)
	said := truth.Read(text)
	if !offered[name].ask && said.Error == "" { // what it read may have such members too
		said = truth.Answer{Text: text}
	}
	switch known := truth.Of(text, advice); {
	case said.RetryAfter > 0 && said.Text == "":
		return nil, truth.Limited(said, text)
	case res.IsError && known != nil:
		return nil, known
	case said.Error != "" && said.Text == "":
		if f := truth.Of(said.Error, advice); f != nil {
			f.UpstreamData = []byte(text[:min(len(text), truth.Longest)])
			return nil, f
		}
		res.IsError, res.JSON = true, mcpadapter.With(res.JSON, "isError", json.RawMessage("true"))
	case !res.IsError && known != nil && errorLike(text):
		return nil, known
	case !res.IsError && (strings.TrimSpace(text) == "null" || said.Envelope && said.Text == ""):
		return nil, truth.Nothing(text)
	case !res.IsError && offered[name].ask && strings.TrimSpace(said.Text) == "":
		return nil, truth.Nothing(text)
	}
	if offered[name].ask && !res.IsError {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(answer{said.Text, said.ConversationID}); err != nil {
			return nil, err
		}
		res.JSON = mcpadapter.With(res.JSON, "structuredContent", bytes.TrimSpace(b.Bytes()))
	}
	res.JSON = mcpadapter.Untrusted(res.JSON)
	return res, nil
}

// errorLike says of a text that counts as a success whether it is a message of the
// program: an answer may well have the same words in it.
func errorLike(text string) bool {
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, begins := range []string{"error", "you must accept the eula", "access denied for path", "authentication failed", "the caller is not entitled", "aadsts"} {
		if strings.HasPrefix(lower, begins) {
			return true
		}
	}
	return false
}
