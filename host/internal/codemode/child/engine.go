package child

import (
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"modernc.org/quickjs"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
	"github.com/collet-dev/collet/host/internal/name"
)

//go:embed *.js
var preludes embed.FS

// preludeFiles are one scope, in this order: each uses what those before it declare.
var preludeFiles = []string{"bridge.js", "tools.js", "print.js", "freeze.js", "main.js"}

// firstLine is the engine's line of a script's first. All that is evaluated has the
// same file name, so that this tells the script from what is above it.
const firstLine = 2001

// engine is a JavaScript engine with the prelude in it.
type engine struct {
	vm    *quickjs.VM
	entry map[string]quickjs.Value // the prelude's functions
}

// builtIns are what the prelude takes from the global object, and removes there.
func (c *child) builtIns() map[string]any {
	kinds := map[string]wire.Kind{"call": wire.Call, "ask": wire.Ask, "output": wire.Output, "console": wire.Console}
	return map[string]any{
		"send": func(kind string, id int, body string) {
			k := kinds[kind]
			if k == wire.Call || k == wire.Ask {
				c.asked++
			}
			if err := c.send(k, uint32(id), []byte(body)); err != nil {
				os.Exit(0) // nobody is there to hear of it
			}
		},
		"stop": func(kind, message string) {
			c.stop(wire.Reason{Kind: kind, Message: message})
			c.engine.vm.Interrupt() // no catch and no finally of the script sees this
		},
		"settled": func(ok bool, body string) { c.settled = &settlement{ok, body} },
		"place": func(stack string) string {
			text, _, _ := c.script.stack(stack)
			return text
		},
		"odd":    func(body string) bool { return odd(body) },
		"near":   near,
		"base64": checkBase64,
	}
}

func newEngine(c *child) (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	vm.SetMemoryLimit(heapBeforeStart)
	vm.SetCanBlock(false)
	if err := reachBelow(vm); err != nil {
		return nil, err
	}
	e := &engine{vm: vm, entry: map[string]quickjs.Value{}}
	var b strings.Builder
	b.WriteString("(function () { \"use strict\";\n")
	for n, f := range c.builtIns() {
		if err := vm.RegisterFunc("collet:"+n, f, false); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "const %s = globalThis[\"collet:%s\"]; delete globalThis[\"collet:%s\"];\n", n, n, n)
	}
	for _, f := range preludeFiles {
		text, err := preludes.ReadFile(f)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteString("freeze(); return { begin, run, deliver, lost, leave }; })()")
	if strings.Count(b.String(), "\n") >= firstLine-1 {
		return nil, fmt.Errorf("the prelude reaches line %d, where scripts begin", firstLine)
	}
	prelude, err := vm.EvalValue(b.String(), quickjs.EvalGlobal)
	if err != nil {
		return nil, fmt.Errorf("evaluate the prelude: %w", describe(err))
	}
	for _, n := range []string{"begin", "run", "deliver", "lost", "leave"} {
		atom, err := vm.NewAtom(n)
		if err != nil {
			return nil, err
		}
		if e.entry[n], err = prelude.GetPropertyValue(atom); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// call calls a function of the prelude.
func (e *engine) call(function string, args ...any) (any, error) {
	return e.entry[function].Call(quickjs.UndefinedValue, args...)
}

// describe adds the stack to an error of the engine, for those who work on the prelude.
func describe(err error) error {
	if e, ok := err.(*quickjs.Error); ok {
		return fmt.Errorf("%w\n%s", err, e.Stack)
	}
	return err
}

// maxNear is how many similar names an error suggests.
const maxNear = 3

// near returns the names of a JSON array that are similar to want.
func near(want, have string) []string {
	var names []string
	if json.Unmarshal([]byte(have), &names) != nil {
		return nil
	}
	return append([]string{}, name.Near(want, names, maxNear)...)
}

// checkBase64 says what is wrong with base64 by RFC 4648 section 4; empty is nothing.
func checkBase64(data string) string {
	if data == "" {
		return "there is no data"
	}
	n, err := base64.StdEncoding.Strict().Decode(make([]byte, base64.StdEncoding.DecodedLen(len(data))), []byte(data))
	if at, ok := err.(base64.CorruptInputError); ok {
		return fmt.Sprintf("the data is no base64, at byte %d", int64(at))
	}
	if err != nil || n == 0 || strings.ContainsAny(data, "\r\n") {
		return "the data is no base64"
	}
	return ""
}
