package codemode

import (
	"testing"
	"time"
)

const none Kind = ""

// hostile are scripts that would take a host down that ran them itself. Each ends
// within its deadline, in the kind that says what was wrong with it.
var hostile = []struct {
	name, source string
	want         Kind // none: it completes
}{
	{"loop", `for (;;);`, KindTimeout},
	{"async loop", `for (;;) await null;`, KindTimeout},
	{"two async loops", `const f = async () => { for (;;) await 0 }; await Promise.race([f(), f()])`, KindTimeout},
	{"loop in catch", `for (;;) { try { for (;;); } catch { for (;;); } }`, KindTimeout},
	{"loop in finally", `try { for (;;); } finally { for (;;); }`, KindTimeout},
	{"async finally", `const f = async () => { try { for (;;) await 0; } finally { for (;;); } }; await f().catch(() => { for (;;); })`, KindTimeout},
	{"loop in sort", `[3, 1, 2].sort(() => { for (;;); })`, KindTimeout},
	{"loop in toJSON", `return {toJSON() { for (;;); }}`, KindTimeout},
	{"loop in a getter of an argument", `await tools.t.echo({get a() { for (;;); }})`, KindTimeout},
	{"loop in a thenable", `return {then() { for (;;); }}`, KindTimeout},
	{"loop in toString of an error", `throw {toString() { for (;;); }, toJSON() { for (;;); }}`, KindTimeout},
	{"loop in message of an error", `const e = new Error(); Object.defineProperty(e, "message", {get() { for (;;); }}); throw e`, KindTimeout},
	{"loop in a proxy", `return new Proxy({}, {ownKeys() { for (;;); }})`, KindTimeout},
	{"backtracking", `/^(a+)+$/.test("a".repeat(40) + "b")`, KindTimeout},
	{"generator", `function* g() { for (;;) yield 1 } for (const x of g());`, KindTimeout},
	{"promise chain", `const f = () => Promise.resolve().then(f); await f()`, KindTimeout},
	{"long native call", `return [].indexOf.call({length: 2 ** 32 - 1}, 1)`, KindTimeout},
	{"quadratic native call", `const s = "a".repeat(2 ** 23); return s.indexOf(s.slice(0, 2 ** 22) + "b")`, KindTimeout},
	{"join", `return Array(2e8).join().length`, KindTimeout},
	{"memory", `const a = []; for (;;) a.push(new Array(1000).fill(a.length));`, KindMemory},
	{"memory of strings", `let s = "x"; for (;;) s += s + Math.random();`, KindScript},
	{"memory of buffers", `const a = []; for (;;) a.push(new ArrayBuffer(1e6));`, KindMemory},
	{"one huge buffer", `new ArrayBuffer(2 ** 33)`, KindScript},
	{"memory that is caught", `const a = []; for (;;) { try { for (;;) a.push(new Array(1000).fill(1)); } catch { } }`, KindTimeout},
	{"recursion", `const f = () => f() + 1; f()`, KindScript},
	{"deep JSON", `return JSON.parse("[".repeat(1e6) + "]".repeat(1e6))`, KindScript},
	{"deep value", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a`, KindScript},
	{"deep source", "return " + deep(60000, "(", ")"), KindSyntax},
	{"deep regular expression", `new RegExp("(".repeat(1e6) + ")".repeat(1e6))`, KindScript},
	{"console", `for (let i = 0; i < 1e7; i++) console.log("line", i); return 1`, none},
	{"output in a loop", `for (;;) text("x".repeat(1000))`, KindOutput},
	{"output of nothing", `for (;;) text("")`, KindOutput},
	{"huge output", `text("x".repeat(5e6))`, KindOutput},
	{"huge value", `return "x".repeat(5e6)`, KindOutput},
	{"output limit that is caught", `for (;;) { try { text("x".repeat(1e6)); } catch {} finally {} }`, KindOutput},
	{"stalled", `await new Promise(() => {})`, KindStalled},
	{"stalled behind a call", `await tools.t.echo({}); await new Promise(() => {})`, KindStalled},
	{"a call that does not return", `await tools.t.wait({ms: 60000})`, KindTimeout},
	{"a call that nobody awaits and that does not return", `tools.t.wait({ms: 60000}); return 1`, KindTimeout},
	{"many calls", `await Promise.all(Array.from({length: 100000}, () => tools.t.echo({})))`, KindScript},
	{"many calls that fail one by one", `let n = 0; for (let i = 0; i < 20000; i++) await tools.t.echo({}).catch(() => n++); return n`, none},
	{"many calls, settled", `await Promise.allSettled(Array.from({length: 100000}, () => tools.t.echo({})))`, KindMemory},
	{"prototype pollution", `Object.prototype.x = 1`, KindScript},
	{"patched promise", `Promise.prototype.then = () => {}; return 1`, KindScript},
	{"patched JSON", `JSON.stringify = () => "{}"; return 1`, KindScript},
	{"patched map", `Map.prototype.get = function () { throw 1 }`, KindScript},
	{"patched async function", `Object.getPrototypeOf(async function () {}).constructor = 1`, KindScript},
	{"redefined", `Object.defineProperty(Array.prototype, "map", {value: 1})`, KindScript},
	{"other prototype", `Object.setPrototypeOf(Array.prototype, {})`, KindScript},
	{"assigned tools", `tools.t.echo = () => 1`, KindScript},
	{"wait of atomics", `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`, KindScript},
	{"module", `await import("fs")`, KindScript},
}

func deep(n int, open, end string) string {
	b := make([]byte, 0, 2*n+1)
	for range n {
		b = append(b, open...)
	}
	b = append(b, '1')
	for range n {
		b = append(b, end...)
	}
	return string(b)
}

// slack is what a loaded machine may add to a deadline and the grace after it.
const slack = 5 * time.Second

func TestHostile(t *testing.T) {
	r, h := newRunner(t), newHost()
	var slowest time.Duration
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			deadline := 20 * time.Second
			if c.want == KindTimeout {
				deadline = 400 * time.Millisecond
			}
			begun := time.Now()
			out := run(t, r, Script{Source: c.source, Limits: Limits{Timeout: deadline}}, h)
			took := time.Since(begun)
			if c.want == KindTimeout {
				slowest = max(slowest, took-deadline)
			}
			var kind Kind
			var said string
			if out.Error != nil {
				kind, said = out.Error.Kind, out.Error.Message
			}
			t.Logf("%s %.80s after %s (%s of processor time): %s", kind, out.Value, took.Round(time.Millisecond), out.CPU.Round(time.Millisecond), said)
			if took > deadline+grace+slack {
				t.Errorf("it took %s", took)
			}
			if kind != c.want {
				t.Errorf("it ended in %q, want %q: %s", kind, c.want, said)
			}
			mustReturn(t, r, h, `return (await tools.t.echo({a: 1})).a`, `1`)
		})
	}
	t.Logf("at most %s beyond the deadline", slowest)
}
