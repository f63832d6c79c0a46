package child

import (
	"encoding/json"
	"errors"
	"strings"

	"modernc.org/quickjs"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

// settlement is what became of the script's function: its value as JSON, empty for
// undefined, or a thrown error.
type settlement struct {
	ok   bool
	body string
}

// thrown is what the prelude says of a thrown value.
type thrown struct {
	Thrown  bool   `json:"thrown"` // no Error
	None    bool   `json:"none"`   // null
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
	Tool    string `json:"tool"`
	Code    string `json:"code"`
}

// run runs a program to its end.
func (c *child) run(p *wire.Program) *wire.Ending {
	c.heap = p.Heap
	c.engine.vm.SetMemoryLimit(uintptr(p.Heap))
	s, fault := c.compile(p.Source)
	if fault != nil {
		return &wire.Ending{Error: fault}
	}
	c.script = s
	if fault = c.begin(p, s); fault == nil {
		fault = c.attend(s)
	}
	e := &wire.Ending{Error: fault, Notices: c.notices}
	c.leave(e)
	if fault == nil && e.Value == nil && c.settled != nil && c.settled.body != "" {
		e.Value = json.RawMessage(c.settled.body)
	}
	return e
}

// begin starts the script, which runs to its first await.
func (c *child) begin(p *wire.Program, s *script) *wire.Fault {
	environment, err := json.Marshal(struct {
		Limits        map[string]int    `json:"limits"`
		Servers       []wire.Server     `json:"servers"`
		Stored        map[string]string `json:"stored"`
		Args          *string           `json:"args,omitempty"`
		Seed          string            `json:"seed"`
		Deterministic bool              `json:"deterministic"`
		Now           int64             `json:"now"`
	}{
		Limits: map[string]int{
			"maxCalls": p.MaxCalls, "maxArguments": p.MaxArguments, "maxOutput": p.MaxOutput, "maxItems": p.MaxItems,
			"maxConsole": p.MaxConsole, "maxStored": p.MaxStored, "maxStoredAll": p.MaxStoredAll,
		},
		Servers: p.Servers, Stored: p.Stored, Args: text(p.Args), Seed: p.Seed, Deterministic: p.Deterministic, Now: p.Now,
	})
	if err != nil {
		return &wire.Fault{Kind: "sandbox", Message: err.Error()}
	}
	if _, err := c.engine.call("begin", string(environment), odd(string(p.Args))); err != nil {
		return c.failed(err, s)
	}
	if _, err := c.engine.call("run", s.main, s.expression); err != nil {
		return c.failed(err, s)
	}
	return nil
}

func text(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	s := string(raw)
	return &s
}

// attend runs what the script has to do and hands it the host's answers, until it
// has settled and nothing is going on any more.
func (c *child) attend(s *script) *wire.Fault {
	for answered := 0; ; answered++ {
		if err := c.drain(); err != nil {
			return c.failed(err, s)
		}
		if r := c.stopReason(); r != nil {
			return halted(r)
		}
		if c.settled != nil && !c.settled.ok {
			return c.uncaught(s)
		}
		if answered == c.asked {
			if c.settled == nil {
				if below.exhausted(c.heap) {
					return fault(&thrown{None: true}, s)
				}
				return &wire.Fault{Kind: "stalled", Message: "the script awaits something that nothing can settle: no call is running"}
			}
			return c.unawaited(s)
		}
		f := <-c.events
		if f.Kind != wire.Answer && f.Kind != wire.Refuse {
			continue // it is being stopped
		}
		body := string(f.Body)
		if _, err := c.engine.call("deliver", int(f.ID), f.Kind == wire.Answer, body, odd(body)); err != nil {
			return c.failed(err, s)
		}
	}
}

// drain runs the engine's jobs until there are none.
func (c *child) drain() error {
	for c.stopReason() == nil {
		n, err := c.engine.vm.ExecutePendingJobs()
		if c.stopReason() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
	return nil
}

// leave asks the prelude for what is to be kept.
func (c *child) leave(e *wire.Ending) {
	if e.Error != nil && e.Error.Kind == kindMemory {
		return
	}
	said, err := c.engine.call("leave")
	if err != nil {
		return
	}
	var left struct {
		Value   *string           `json:"value"`
		Stored  map[string]string `json:"stored"`
		Dropped int               `json:"dropped"`
	}
	if body, ok := said.(string); !ok || json.Unmarshal([]byte(body), &left) != nil {
		return
	}
	e.Dropped = left.Dropped
	if e.Error == nil {
		e.Stored = left.Stored
		if left.Value != nil && *left.Value != "" {
			e.Value = json.RawMessage(*left.Value)
		}
	}
}

// The kinds of failures that this package tells apart.
const (
	kindSyntax  = "syntax"
	kindScript  = "script"
	kindMemory  = "memory"
	kindSandbox = "sandbox"
)

// halted is the failure of a script that was stopped; exit() is none.
func halted(r *wire.Reason) *wire.Fault {
	if r.Kind == "exit" {
		return nil
	}
	return &wire.Fault{Kind: r.Kind, Message: r.Message}
}

// failed is what an error of a call into the engine means. What a script throws does
// not come this way, it settles the script's function; this is the engine itself.
func (c *child) failed(err error, s *script) *wire.Fault {
	if r := c.stopReason(); r != nil {
		return halted(r)
	}
	e, ok := errors.AsType[*quickjs.Error](err)
	if !ok {
		return &wire.Fault{Kind: kindSandbox, Message: err.Error()}
	}
	return fault(&thrown{Name: e.Name, Message: e.Message, Stack: e.Stack, None: e.Name == "" && e.Message == ""}, s)
}

// unawaited is the failure of a script that did all it awaited, while something else
// of it failed.
func (c *child) unawaited(s *script) *wire.Fault {
	if !below.first("collet:rejected") {
		return nil
	}
	body, err := c.engine.call("lost")
	if err != nil {
		return c.failed(err, s)
	}
	var t thrown
	if text, ok := body.(string); !ok || json.Unmarshal([]byte(text), &t) != nil {
		t = thrown{Message: "a promise that was not awaited was rejected"}
	}
	c.notices = append(c.notices, "the error comes from something that the script did not await")
	return fault(&t, s)
}

func (c *child) uncaught(s *script) *wire.Fault {
	t := thrown{None: c.settled.body == ""}
	if t.None {
		return fault(&t, s)
	}
	if err := json.Unmarshal([]byte(c.settled.body), &t); err != nil {
		return &wire.Fault{Kind: kindSandbox, Message: "read the script's error: " + err.Error()}
	}
	t.None = t.None && below.exhausted(c.heap) // else the script itself threw null
	return fault(&t, s)
}

// fault is a thrown value as a failure of the script. Where there is no memory for
// an error the engine throws null.
func fault(t *thrown, s *script) *wire.Fault {
	f := &wire.Fault{Kind: kindScript, Name: t.Name, Message: t.Message, Tool: t.Tool, Code: t.Code}
	switch {
	case t.None, t.Name == "InternalError" && t.Message == "out of memory":
		f.Kind, f.Name, f.Message = kindMemory, "", "the script used up its memory"
	case t.Thrown:
		f.Message = "the script threw " + t.Message
	}
	f.Stack, f.Line, f.Column = s.stack(t.Stack)
	f.Message = strings.TrimSpace(f.Message)
	return f
}
