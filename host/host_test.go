package host_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

const helloToml = `
[servers.hello]
plugin = "hello"
config = { greeting = "Salve" }
`

func TestCallAToolOfAPlugin(t *testing.T) {
	h := open(t, helloToml)
	res := mustCall(t, h, "hello/greet", `{"name":"world"}`)
	if got := gjson.GetBytes(res.JSON, "content.0.text").String(); got != "Salve, world!" || res.IsError || res.Attempts != 1 {
		t.Errorf("got %+v %s", res, res.JSON)
	}
}

func TestOpenStartsNothing(t *testing.T) {
	h := open(t, helloToml)
	if s := h.Servers(); len(s) != 1 || s[0].State != "idle" || s[0].Pid != 0 || s[0].Plugin != "hello" {
		t.Errorf("servers: %+v", s)
	}
}

func TestBytesStayBytes(t *testing.T) {
	h := open(t, `
[servers.n]
command = "${BUILT}/faultserver"
`)
	// What the server got, it repeats as text.
	args := `{"zebra":1,"id":9007199254740993,"big":123456789012345678901234567890,"one":1.0,"exp":1e2,"html":"a<b> & c","sep":"` + "\u2028" + `","esc":"\u00e9\/"}`
	res := mustCall(t, h, "n/raw", args)
	if got := gjson.GetBytes(res.JSON, "content.0.text").String(); !strings.Contains(got, `"arguments":`+args) {
		t.Errorf("the server got\n%s\nand not\n%s", got, args)
	}
	// What the server says, the caller gets.
	direct := map[string]string{
		"n/c_numbers":      `"zebra":1,"alpha":2,"one":1.0,"exp":1e2,"small":1E-7,"neg0":-0.0,"big":9007199254740993`,
		"n/c_html":         `a<b> & c`,
		"n/c_unknown_type": `{"type":"hologram"`,
	}
	for tool, want := range direct {
		if res := mustCall(t, h, tool, `{}`); !bytes.Contains(res.JSON, []byte(want)) {
			t.Errorf("%s: %s lacks %s", tool, res.JSON, want)
		}
	}
}

func TestArgumentsAreRefusedBeforeTheAdapter(t *testing.T) {
	h := open(t, `
[servers.a]
plugin = "testadapter"
[servers.hello]
plugin = "hello"
`)
	f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":7}`)})
	if f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent || f.Attempts != 0 {
		t.Errorf("got %v %v attempts %d", f.Class, f.Delivery, f.Attempts)
	}
	if want := (failure.Problem{Path: "/name", Rule: "type"}); len(f.Problems) != 1 || f.Problems[0].Path != want.Path || f.Problems[0].Rule != want.Rule {
		t.Errorf("problems: %+v", f.Problems)
	}
	for _, args := range []string{`[]`, `{"a":`, `null`} {
		if f := mustFail(t, h, host.Request{Tool: "a/count", Arguments: json.RawMessage(args)}); f.Class != failure.InvalidArguments {
			t.Errorf("%s: %v", args, f.Class)
		}
	}
	// Three refused calls, one counted.
	if res := mustCall(t, h, "a/count", `{}`); !bytes.Contains(res.JSON, []byte("1")) || bytes.Contains(res.JSON, []byte("4")) {
		t.Errorf("count: %s", res.JSON)
	}
}

func TestUnknownNames(t *testing.T) {
	h := open(t, helloToml)
	for tool, want := range map[string]string{
		"hello/gret": "did you mean hello/greet?",
		"helo/greet": "did you mean hello?",
		"greet":      "SERVER/TOOL",
	} {
		f := mustFail(t, h, host.Request{Tool: tool})
		if f.Class != failure.NotFound || f.Delivery != failure.NotSent || !strings.Contains(f.Error(), want) {
			t.Errorf("%s: %v %q", tool, f.Class, f.Error())
		}
	}
}

func TestHiddenIsNotFound(t *testing.T) {
	h := open(t, helloToml+`
[servers.hello.tool_exposure]
greet = "hidden"
`)
	hidden := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
	if hidden.Class != failure.NotFound || strings.Contains(hidden.Message, "greet") {
		t.Errorf("got %v %q", hidden.Class, hidden.Message)
	}
	list, err := h.Tools(patient(t), host.Query{})
	if err != nil || len(list.Tools) != 0 {
		t.Errorf("list: %+v %v", list, err)
	}
	list, err = h.Tools(patient(t), host.Query{Exposure: host.Hidden})
	if err != nil || len(list.Tools) != 1 {
		t.Errorf("list --exposure hidden: %+v %v", list, err)
	}
}

func TestEvents(t *testing.T) {
	h := open(t, helloToml)
	var mu sync.Mutex
	var states, calls []string
	cancel := h.Subscribe(func(e host.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case e.ServerChanged != nil:
			states = append(states, e.ServerChanged.State)
		case e.CallStarted != nil:
			calls = append(calls, "started "+e.CallStarted.Server+"/"+e.CallStarted.Tool)
		case e.CallFinished != nil:
			calls = append(calls, "finished "+e.CallFinished.Class)
		}
	})
	mustCall(t, h, "hello/greet", `{"name":"x"}`)
	mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{}`)})
	cancel()
	mustCall(t, h, "hello/greet", `{"name":"x"}`)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"starting", "ready"}; !slices.Equal(states, want) {
		t.Errorf("states %v", states)
	}
	if want := []string{"started hello/greet", "finished ", "started hello/greet", "finished invalid-arguments"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q", calls)
	}
}

func TestListHasTheOthers(t *testing.T) {
	h := open(t, helloToml+`
[servers.never]
command = "${BUILT}/faultserver"
args = ["-fault", "initnever,discover-silent"]
[servers.gone]
command = "${BUILT}/no-such-server"
[servers.unset]
command = "${BUILT}/faultserver"
env = { TOKEN = "${NOBODY_SETS_THIS}" }
[servers.off]
plugin = "hello"
enabled = false
`)
	const wait = 2 * time.Second
	list, err := h.Tools(patient(t), host.Query{Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 1 || list.Tools[0].Name != "hello/greet" {
		t.Errorf("tools: %+v", list.Tools)
	}
	said := map[string]string{}
	for _, s := range list.Servers {
		said[s.Name] = s.State + ": " + s.Error
	}
	for name, want := range map[string]string{
		"never": "starting: still starting", "gone": "failed: ", "unset": "NOBODY_SETS_THIS is not set", "hello": "ready: ",
	} {
		if !strings.Contains(said[name], want) {
			t.Errorf("%s says %q, not %q", name, said[name], want)
		}
	}
	if _, ok := said["off"]; ok {
		t.Error("a disabled server is listed")
	}
}

func TestOneBrokenEntryBesideAGoodOne(t *testing.T) {
	opt := options(t, helloToml+`
[servers.bad]
command = 7
`)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if len(h.Problems()) != 1 {
		t.Errorf("problems: %v", h.Problems())
	}
	mustCall(t, h, "hello/greet", `{"name":"x"}`)
	f := mustFail(t, h, host.Request{Tool: "bad/x"})
	if !f.Misconfigured || !strings.Contains(f.Message, "servers.bad.command") {
		t.Errorf("got %+v", f)
	}
}

func TestTimeoutNamesWhatIsUnknown(t *testing.T) {
	h := open(t, "[servers.a]\nplugin = \"testadapter\"\n")
	f := mustFail(t, h, host.Request{Tool: "a/hang", Timeout: 200 * time.Millisecond})
	if f.Class != failure.Timeout || f.Delivery != failure.DeliveryUnknown || !strings.Contains(f.Message, "outcome unknown") || f.Attempts != 1 {
		t.Errorf("got %v %v %d %q", f.Class, f.Delivery, f.Attempts, f.Message)
	}
	// A deadline never kills the server.
	pid := h.Servers()[0].Pid
	mustCall(t, h, "a/echo", `{}`)
	if now := h.Servers()[0].Pid; now != pid || pid == 0 {
		t.Errorf("pid %d became %d", pid, now)
	}
}

func TestProgressRestartsTheDeadline(t *testing.T) {
	h := open(t, `
[servers.n]
command = "${BUILT}/faultserver"
`)
	mustCall(t, h, "n/echo", `{"text":"x"}`)
	var got []host.Progress
	_, err := h.Call(patient(t), host.Request{
		Tool: "n/t_progress", Arguments: json.RawMessage(`{"ms":1800,"step":150}`), Timeout: time.Second,
		OnProgress: func(p host.Progress) { got = append(got, p) },
	})
	if err != nil || len(got) < 5 {
		t.Errorf("progress %v, error %v", got, err)
	}
	f := mustFail(t, h, host.Request{Tool: "n/t_sleep", Arguments: json.RawMessage(`{"ms":20000}`), Timeout: 300 * time.Millisecond})
	if f.Class != failure.Timeout {
		t.Errorf("silent call: %v", f)
	}
}

func TestFailureIsFoundByErrorsAs(t *testing.T) {
	h := open(t, helloToml)
	_, err := h.Call(patient(t), host.Request{Tool: "hello/none"})
	var f *failure.Failure
	if !errors.As(err, &f) || f.Class != failure.NotFound {
		t.Errorf("%v", err)
	}
}
