package adapter

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/collet-dev/collet/sdk/failure"
)

// stub of the contract; the SDK helper completes it
type Server interface {
	Tools(context.Context) ([]Tool, error)
	Call(context.Context, *Call) (*Result, error)
}
type Tool struct {
	Name                 string
	Definition           json.RawMessage
	ReadOnly, Idempotent *bool
	AsksConsent          bool
	OutputSchema         json.RawMessage
}
type Call struct {
	Tool, ID       string
	Args, Meta     json.RawMessage
	InputResponses json.RawMessage
	RequestState   string
}

func (c *Call) Progress(done, total float64, message string)              {}
func (c *Call) Log(level slog.Level, logger string, data json.RawMessage) {}

type Result struct {
	JSON    json.RawMessage
	IsError bool
	Input   *InputRequired
}
type InputRequired struct {
	Requests json.RawMessage
	State    string
}
type Env struct {
	Server, DataDir string
	Log             *slog.Logger
}
type State int

const (
	Connecting State = iota + 1
	Ready
	Degraded
	Unavailable
)

type Events struct{}

func (e *Events) Health(s State, f *failure.Failure)                    {}
func (e *Events) ToolsChanged(revision string)                          {}
func (e *Events) ServerInfo(raw json.RawMessage)                        {}
func (e *Events) ForwardMethods(methods []string)                       {}
func (e *Events) Forwarded(notification string, params json.RawMessage) {}

type Watcher interface {
	Watch(ctx context.Context, ev *Events) error
}
type Request struct {
	Method, ID string
	Params     json.RawMessage
}
type Forwarder interface {
	Methods() []string
	Forward(context.Context, *Request) (json.RawMessage, error)
}
