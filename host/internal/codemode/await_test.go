package codemode

import (
	"strings"
	"testing"
)

// What a script does not await is finished all the same, and what goes wrong in it is
// told.
func TestNotAwaited(t *testing.T) {
	r, h := newRunner(t), newHost()
	out := run(t, r, Script{Source: `
		async function main() { text((await tools.t.echo({a: 1})).a); }
		main();
	`}, h)
	if out.Status != Completed || len(out.Output) != 1 || out.Output[0].Text != "1" {
		t.Errorf("%+v", out)
	}
	for source, want := range map[string]string{
		"async function main() { throw new RangeError('lost'); }\nmain(); return 1": "lost",
		"tools.t.fail({}); return 1":                                        "no such thing",
		"Promise.reject(new Error('alone')); await tools.t.echo({})":        "alone",
		"(async () => { await tools.t.break({}) })(); await tools.t.echo()": "the server crashed",
	} {
		out := run(t, r, Script{Source: source}, h)
		if out.Error == nil || out.Error.Kind != KindScript || out.Error.Message != want || len(out.Notices) != 1 {
			t.Errorf("%s\n%+v %+v, want %q", source, out, out.Error, want)
		}
	}
	for _, source := range []string{
		`const p = Promise.reject(new Error("late")); await tools.t.echo({}); try { await p } catch { return 1 }`,
		`const p = tools.t.fail({}); await tools.t.wait({ms: 50}); return (await p.catch(() => 1))`,
		`const r = await Promise.allSettled([tools.t.fail({}), tools.t.fail({})]); return r.length - 1`,
		`for (let i = 0; i < 1000; i++) { try { await Promise.reject(new Error("x")) } catch {} } return 1`,
	} {
		mustReturn(t, r, h, source, `1`)
	}
}

// A promise in a value is a mistake that is told, where JSON.stringify alone writes {}.
func TestPromiseIsNoValue(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, source := range []string{
		`return {a: [tools.t.echo({})]}`,
		`text({a: tools.t.echo({})})`,
		`store("k", [Promise.resolve(1)])`,
		`return JSON.stringify([Promise.resolve(1)])`,
	} {
		out := run(t, r, Script{Source: source}, h)
		if out.Error == nil || !strings.Contains(out.Error.Message, "promise that was not awaited") {
			t.Errorf("%s\n%+v %+v", source, out, out.Error)
		}
	}
	out := run(t, r, Script{Source: `await tools.t.echo({a: Promise.resolve(1)})`}, h)
	if out.Error == nil || out.Error.Code != CodeArguments {
		t.Errorf("%+v", out.Error)
	}
}
