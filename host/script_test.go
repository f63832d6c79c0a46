package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/collet-dev/collet/host"
)

// runScript runs a script that must at least be run.
func runScript(t *testing.T, h *host.Host, s host.ScriptRequest) host.ScriptOutcome {
	t.Helper()
	out, err := h.Run(patient(t), s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// scriptReturns fails the test when the script does not return this JSON.
func scriptReturns(t *testing.T, h *host.Host, source, want string) {
	t.Helper()
	out := runScript(t, h, host.ScriptRequest{Source: source})
	if out.Error != nil || string(out.Value) != want {
		t.Errorf("%s\nreturned %s %+v, want %s", source, out.Value, out.Error, want)
	}
}

const scriptServers = `
[servers.hello]
plugin = "hello"
[servers.fault]
command = "${BUILT}/faultserver"
[servers.fault.tool_exposure]
"x_*" = "hidden"
"echo" = "direct"
[servers.down]
command = "${BUILT}/nothing-here"
`

// A script's calls go through the pipeline: names, arguments and failures are those of
// every other call.
func TestScript(t *testing.T) {
	h := open(t, scriptServers)
	scriptReturns(t, h, `
		const greeting = await tools.hello.greet({name: "world"});
		const codes = [];
		for (const wrong of [() => tools.hello.greet({}), () => call("hello/nothing", {}), () => call("nowhere/greet", {}), () => call("fault/x_env", {}), () => call("down/x", {})]) {
			await wrong().catch((e) => codes.push([e.code, e.details.class, e.retryable]));
		}
		return {greeting, codes}`,
		`{"greeting":"Hello, world!","codes":[["invalid_arguments","invalid-arguments",false],["not_found","not-found",false],["not_found","not-found",false],["not_found","not-found",false],["disconnected","connection-refused",true]]}`)
	// What is wrong with arguments is told in the server's own words.
	scriptReturns(t, h, `return await tools.hello.greet({}).catch((e) => [e.tool, e.message.includes("name"), e.details.problems.length])`, `["hello/greet",true,1]`)
	// Hidden tools are not there, whatever their exposure the others are.
	scriptReturns(t, h, `return ["x_env" in tools.fault, "echo" in tools.fault, Object.keys(tools).sort()]`, `[false,true,["down","fault","hello"]]`)
	out := runScript(t, h, host.ScriptRequest{Source: `return tools.hello.gret({})`})
	if e := out.Error; e == nil || e.Message != "tools.hello.gret does not exist. Did you mean tools.hello.greet?" {
		t.Errorf("%+v", out.Error)
	}
}

// A server that the source does not name is not started for it, and still reached: by
// the name of a tool, or by its identifier.
func TestScriptStartsServers(t *testing.T) {
	h := open(t, scriptServers)
	scriptReturns(t, h, `return 1`, `1`)
	for _, s := range h.Servers() {
		if s.Pid != 0 {
			t.Errorf("%s was started", s.Name)
		}
	}
	scriptReturns(t, h, `const name = "hel" + "lo"; return [Object.keys(tools[name]), await tools[name].greet({name: "you"})]`, `[[],"Hello, you!"]`)
	for _, s := range h.Servers() {
		if s.Pid != 0 != (s.Name == "hello") {
			t.Errorf("%s has process %d", s.Name, s.Pid)
		}
	}
	scriptReturns(t, h, `return Object.keys(tools.hello)`, `["greet"]`)
}

func TestScriptAsksForTools(t *testing.T) {
	h := open(t, scriptServers)
	scriptReturns(t, h, `
		const found = await searchTools("greet somebody");
		const text = await describeTool("hello/greet");
		const server = await describeServer("hello");
		const none = await describeTool("hello/greed").catch((e) => e.code);
		const down = await describeServer("down").catch((e) => e.code);
		return [found[0].name, text.includes("greet(args: {"), server.tools, none, down, (await searchTools("environment", {server: "fault"})).some((t) => t.name === "fault/x_env")]`,
		`["hello/greet",true,["greet"],"not_found","disconnected",false]`)
}

// The crash of a server rejects the calls on it, and nothing else.
func TestScriptSurvivesCrash(t *testing.T) {
	h := open(t, `
[servers.a]
command = "${BUILT}/faultserver"
[servers.b]
command = "${BUILT}/faultserver"
`)
	scriptReturns(t, h, `
		const [crashed, other] = await Promise.allSettled([tools.a.x_exit({code: 3}), tools.b.echo({text: "x"})]);
		const after = await tools.b.echo({text: "y"});
		return [crashed.reason.code, crashed.reason.tool, other.value, after]`,
		`["disconnected","a/x_exit","x","y"]`)
}

// A dry run makes only calls that are known to change nothing, and lists the others.
func TestScriptDryRun(t *testing.T) {
	h := open(t, scriptServers)
	out := runScript(t, h, host.ScriptRequest{
		Source: `const r = await tools.fault.echo({text: "x"}); return [r, await tools.fault.echo.raw({text: "y"})]`, DryRun: true,
	})
	if string(out.Value) != `[{},{}]` || len(out.Calls) != 2 || out.Calls[0].Status != "not-made" || string(out.Calls[0].Arguments) != `{"text":"x"}` {
		t.Errorf("%s %+v %+v", out.Value, out.Calls, out.Error)
	}
}

// A dry run does not make a call of which it could not find out what it does: the
// server may be there a moment later.
func TestScriptDryRunOfWhatIsNotThere(t *testing.T) {
	h := open(t, scriptServers)
	out := runScript(t, h, host.ScriptRequest{DryRun: true, Source: `
		const codes = [];
		for (const tool of ["down/x", "fault/nothing", "fault/x_env", "nowhere/x"]) await call(tool, {}).catch((e) => codes.push(e.code, e.tool));
		return codes`})
	if string(out.Value) != `["disconnected","down/x","not_found","fault/nothing","not_found","fault/x_env","not_found","nowhere/x"]` {
		t.Errorf("%s %+v", out.Value, out.Error)
	}
}

// With a server whose hints are trusted, a dry run reads.
func TestScriptDryRunReads(t *testing.T) {
	h := open(t, strings.Replace(scriptServers, "[servers.fault]", "[servers.fault]\ntrust_hints = true", 1))
	out := runScript(t, h, host.ScriptRequest{Source: `await tools.fault.s_read({}); await tools.fault.s_count({})`, DryRun: true})
	if out.Error != nil || len(out.Calls) != 2 || out.Calls[0].Status != "ok" || out.Calls[1].Status != "not-made" {
		t.Errorf("%+v %+v", out.Error, out.Calls)
	}
}

// A script sees and calls what it is allowed to.
func TestScriptAllow(t *testing.T) {
	h := open(t, scriptServers)
	allow := func(tool string) bool { return tool == "hello/greet" }
	out := runScript(t, h, host.ScriptRequest{
		Allow: allow,
		Source: `
		const codes = [];
		for (const f of [() => call("fault/echo", {text: "x"}), () => describeTool("fault/echo")]) await f().catch((e) => codes.push(e.code));
		return [await tools.hello.greet({name: "a"}), codes, await searchTools("echo"), Object.keys(tools).includes("fault")]`,
	})
	if string(out.Value) != `["Hello, a!",["denied","denied"],[],false]` {
		t.Errorf("%s %+v", out.Value, out.Error)
	}
}

// What a script may not call it does not learn of, by no spelling and no near match.
func TestScriptAllowTellsNothing(t *testing.T) {
	h := open(t, scriptServers+"[servers.odd]\ncommand = \"node\"\n")
	scriptReturns(t, h, `return (await call("fault/ech", {}).catch((e) => e.message)).includes("did you mean fault/echo")`, `true`)
	out := runScript(t, h, host.ScriptRequest{
		Allow: func(tool string) bool {
			return strings.HasPrefix(tool, "fault/ech") && tool != "fault/echo" || tool == "hello/greet" || strings.HasPrefix(tool, "hell/")
		},
		AllowServer: func(server string) bool { return strings.HasPrefix(server, "hell") || server == "fault" },
		Source: `
		const said = [];
		for (const tool of ["fault/ech", "fault/echoo", "hello/gree", "hell/greet", "odd/x", "nowhere/x"])
			for (const ask of [() => call(tool, {}), () => call(tool, {}, {raw: true}), () => describeTool(tool)])
				said.push(await ask().then(() => "there", (e) => e.code + " " + e.message));
		said.push(await describeServer("hellp").catch((e) => e.message), await describeServer("odd").catch((e) => e.message));
		return [...new Set(said)]`,
	})
	want := `["not_found fault/ech: no such tool","not_found fault/echoo: no such tool","denied this script may not call hello/gree",` +
		`"not_found hell/greet: no server is called hell; did you mean hello?","denied this script may not call odd/x","denied this script may not call nowhere/x",` +
		`"hellp: no server is called hellp; did you mean hello?","this script may not call odd"]`
	if string(out.Value) != want {
		t.Errorf("%s %+v\nwant %s", out.Value, out.Error, want)
	}
}

// The calls of a script are told with the script as their parent.
func TestScriptCallsHaveAParent(t *testing.T) {
	h := open(t, scriptServers)
	var mu sync.Mutex
	var finished []host.CallEvent
	defer h.Subscribe(func(e host.Event) {
		if e.CallFinished != nil {
			mu.Lock()
			defer mu.Unlock()
			finished = append(finished, *e.CallFinished)
		}
	})()
	runScript(t, h, host.ScriptRequest{Source: `await tools.hello.greet({name: "a"})`, ID: "script-1", Session: "s"})
	mu.Lock()
	defer mu.Unlock()
	if len(finished) != 1 || finished[0].Parent != "script-1" || finished[0].Caller != host.Script || finished[0].Session != "s" {
		t.Errorf("%+v", finished)
	}
}

// Tools whose names have the same identifier are told apart, by each of their names.
func TestScriptTwins(t *testing.T) {
	h := open(t, "[servers.n]\ncommand = \"${BUILT}/faultserver\"\nargs = [\"-fault\", \"names\"]\n")
	scriptReturns(t, h, `
		const marked = Object.keys(tools.n).filter((k) => /^a_b_[0-9a-f]{8}$/.test(k));
		const called = await Promise.all(marked.map((k) => tools.n[k]({})));
		return [called.sort(), await tools.n["a.b"]({}), await tools.n["a-b"]({}), await call("n/a/b", {}), await tools.n["a_b"]({})]`,
		`[["a-b called","a.b called","a/b called","a_b called"],"a.b called","a-b called","a/b called","a_b called"]`)
}

// A call has a time of its own, which is not the script's.
func TestScriptCallHasATime(t *testing.T) {
	h := open(t, scriptServers)
	scriptReturns(t, h, `
		const late = await call("fault/t_sleep", {ms: 60000}, {timeout_ms: 300}).catch((e) => [e.code, e.tool, e.details.class]);
		return [late, await tools.fault.echo({text: "x"})]`,
		`[["timeout","fault/t_sleep","timeout"],"x"]`)
}

// A tool that comes while the host runs can be called by the script that has seen it
// come, and is there for the next one, which finds it, too.
func TestScriptSeesToolsCome(t *testing.T) {
	h := open(t, "[servers.n]\ncommand = \"${BUILT}/faultserver\"\n")
	changed := make(chan struct{}, 1)
	defer h.Subscribe(func(e host.Event) {
		if e.CatalogChanged != nil {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})()
	scriptReturns(t, h, `return [await call("n/x_grown", {}).catch((e) => e.code), await tools.n.x_grow({}), "x_grown" in tools.n]`, `["not_found","grown",false]`)
	for came := false; !came; {
		select {
		case <-changed:
			came = string(runScript(t, h, host.ScriptRequest{Source: `return "x_grown" in tools.n`}).Value) == "true"
		case <-patient(t).Done():
			t.Fatal("the tool did not come")
		}
	}
	scriptReturns(t, h, `return [await tools.n.x_grown({}), (await searchTools("grown", {limit: 50})).some((t) => t.name === "n/x_grown"), (await describeTool("n/x_grown")).includes("x_grown(")]`, `["grown",true,true]`)
}

// Big integers keep their digits through adapter, host and script.
func TestScriptBigIntegers(t *testing.T) {
	h := open(t, scriptServers)
	scriptReturns(t, h, `const r = await tools.fault.o_bigint(); return [typeof r.n, r]`, `["bigint",{"n":9007199254740993}]`)
	scriptReturns(t, h, `return String(JSON.stringify(await tools.fault.raw.raw({id: 12345678901234567890n}))).includes("12345678901234567890")`, `true`)
}

// A script walks a real server: one run instead of twenty-one results in a context.
func TestScriptWalksFilesystem(t *testing.T) {
	npm, files := npmDir(t), t.TempDir()
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(files, fmt.Sprintf("note-%02d.txt", i)), []byte(strings.Repeat("a word\n", 500+i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := options(t, `
[servers.files]
command = "node"
args = ["${NPM}/@modelcontextprotocol/server-filesystem/dist/index.js", "${FILES}"]
`)
	opt.Environ = append(opt.Environ, "NPM="+npm, "FILES="+files)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	args, _ := json.Marshal(map[string]string{"dir": files})
	out := runScript(t, h, host.ScriptRequest{Args: args, Source: `
		const list = await tools.files.list_directory({path: args.dir});
		const names = (list.content ?? list).split("\n").filter((l) => l.startsWith("[FILE] ")).map((l) => l.slice(7));
		const lines = await Promise.all(names.map(async (name) => {
			const file = await tools.files.read_text_file({path: args.dir + "/" + name});
			return {name, lines: (file.content ?? file).trimEnd().split("\n").length};
		}));
		return lines.sort((a, b) => b.lines - a.lines).slice(0, 3)`,
	})
	if want := `[{"name":"note-19.txt","lines":519},{"name":"note-18.txt","lines":518},{"name":"note-17.txt","lines":517}]`; string(out.Value) != want {
		t.Errorf("%s %+v %+v", out.Value, out.Error, out.Calls)
	}
	if len(out.Calls) != 21 {
		t.Errorf("%d calls", len(out.Calls))
	}
}

// A result that no script takes is not received, and the calls around it go on.
func TestScriptResultTooLarge(t *testing.T) {
	h := open(t, scriptServers)
	scriptReturns(t, h, `
		const all = await Promise.allSettled([17, 17, 1].map((mib) => tools.fault.c_big({size: mib * 2 ** 20})));
		return [all.map((r) => r.reason ? [r.reason.code, r.reason.details.class, r.reason.details.delivery, r.reason.retryable] : r.value.length >= 2 ** 20), await tools.fault.echo({text: "x"})]`,
		`[[["result_too_large","over-budget","answered",false],["result_too_large","over-budget","answered",false],true],"x"]`)
	// Others take it.
	res, err := h.Call(patient(t), host.Request{Tool: "fault/c_big", Arguments: json.RawMessage(`{"size":17825792}`)})
	if err != nil || len(res.JSON) < 17<<20 {
		t.Errorf("%v", err)
	}
}
