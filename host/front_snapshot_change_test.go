//go:build unix

package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

const one = `
[host]
connect_wait = "600s"
exposure = "direct"
[servers.a]
command = "./a"
`

func rewrite(t *testing.T, opt host.Options, toml string) {
	t.Helper()
	if err := os.WriteFile(opt.ConfigFiles[0], []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gated is a program that waits until open is called.
func gated(t *testing.T, opt host.Options, script string) (gate string, open func()) {
	file := filepath.Join(filepath.Dir(opt.ConfigFiles[0]), "gate")
	return "while ! [ -e " + file + " ]; do sleep 0.02; done; " + script, func() {
		t.Helper()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What is kept counts for the settings and the plugin that it was made with, and
// comes back with them.
func TestWhatIsKeptHasAKey(t *testing.T) {
	t.Parallel()
	opt := options(t, one)
	opt.PluginDirs = []string{filepath.Join(t.TempDir(), "plugins")}
	if err := os.Mkdir(opt.PluginDirs[0], 0o700); err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(opt.PluginDirs[0], "collet-plugin-mcp")
	install := func(more string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(built, "collet-plugin-mcp"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(plugin+".new", append(data, more...), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(plugin+".new", plugin); err != nil {
			t.Fatal(err)
		}
	}
	install("")
	scripted(t, opt, "a", works(""))
	up := live(t, opt)
	list := up.list()
	if !strings.Contains(list, `"a__echo"`) {
		t.Fatal(list)
	}
	up.close()
	scripted(t, opt, "a", broken)
	const nothing = `"tools":[{"name":"result_read"`
	for _, life := range []struct {
		what, toml, plugin string
		kept               bool
	}{
		{"with other args", one + `args = ["x"]`, "", false},
		{"with another environment", one + `env = { TOKEN = "other" }`, "", false},
		{"with another plugin", one, "\n", false},
		{"disabled", one + `enabled = false`, "", false},
		{"with another description, timeout and retry", one + "description = \"d\"\ntimeout = \"7s\"\nretry = \"never\"", "", true},
		{"as it was", one, "", true},
	} {
		rewrite(t, opt, life.toml)
		install(life.plugin)
		l := live(t, opt)
		got := l.list()
		if life.kept && got != list {
			t.Errorf("%s the list is\n%s\nand not\n%s", life.what, got, list)
		}
		if !life.kept && strings.Contains(got, "a__") {
			t.Errorf("%s the list is %s", life.what, got)
		}
		if !life.kept && life.what != "disabled" && !strings.Contains(got, nothing) {
			t.Errorf("%s the list is %s", life.what, got)
		}
		l.close()
	}
	// A plugin that is missing may come back as it was.
	if err := os.Remove(plugin); err != nil {
		t.Fatal(err)
	}
	lost := live(t, opt)
	lost.same("without a plugin", list)
	if got := lost.call("a__echo", `{}`); !strings.Contains(got, "collet-plugin-mcp") {
		t.Error(got)
	}
	lost.close()
	// No secret of the entry is in what is kept.
	rewrite(t, opt, one+`env = { TOKEN = "hunter2hunter2" }`)
	install("")
	scripted(t, opt, "a", works(""))
	secret := live(t, opt)
	secret.list()
	secret.close()
	files, err := filepath.Glob(filepath.Join(opt.StateDir, "snapshots", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"echo"`) || strings.Contains(string(data), "hunter2") {
		t.Errorf("kept is %s", data)
	}
}

// Only a server of which nothing is known is waited for, and once.
func TestTheFirstListWaitsForTheUnknown(t *testing.T) {
	t.Parallel()
	opt := options(t, strings.Replace(one, "600s", "3s", 1)+"[servers.h]\ncommand = \"./h\"\n")
	scripted(t, opt, "a", works(""))
	scripted(t, opt, "h", hanging)
	l := live(t, opt)
	list := l.list()
	if !strings.Contains(list, `"a__echo"`) {
		t.Errorf("the list without a server that hangs is %s", list)
	}
	for range 20 { // which together would take twice as long as the test may
		l.same("once it was waited for", list)
	}
	if got := l.call("tool_search", `{"query":"echo"}`); !strings.Contains(got, "Unknown tool") {
		t.Error(got) // there is nothing to be searched for
	}
	l.close()
	// Of a, something is known now. b is new, and comes to the first list.
	rewrite(t, opt, one+"[servers.b]\ncommand = \"./b\"\n")
	scripted(t, opt, "a", hanging)
	scripted(t, opt, "b", "sleep 0.5; "+works(""))
	l = live(t, opt)
	list = l.list()
	if !strings.Contains(list, `"a__echo"`) || !strings.Contains(list, `"b__echo"`) {
		t.Errorf("the list with a new server is %s", list)
	}
	l.close()
	// A second host asks at the same time, and neither disturbs the other.
	scripted(t, opt, "b", works(""))
	x, y := live(t, opt), live(t, opt)
	x.same("of one host", list)
	y.same("of another host", list)
	x.state("b", "ready")
	y.state("b", "ready")
	y.close()
	x.close()
	scripted(t, opt, "b", broken)
	l = live(t, opt)
	l.same("after two hosts at once", list)
	l.close()
}

// Tools that a server turns out to have, or to have no more, make another list and
// are announced; a call of one that has gone says so.
func TestTheServerHasOtherTools(t *testing.T) {
	t.Parallel()
	opt := options(t, one)
	names := func(list string) (names []string) {
		for _, n := range gjson.Get(list, "tools.#.name").Array() {
			names = append(names, n.String())
		}
		return names
	}
	scripted(t, opt, "a", works("-fault schema:defs"))
	l := live(t, opt)
	before := l.list()
	l.close()

	gate, open := gated(t, opt, works("-fault schema:empty"))
	scripted(t, opt, "a", gate)
	l = live(t, opt)
	l.same("before the server is asked", before)
	open()
	await(t, l.told, "notifications/tools/list_changed")
	after := l.list()
	want := names(strings.Replace(before, `"a__sch_defs"`, `"a__sch_empty"`, 1))
	slices.Sort(want)
	got := names(after)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the list is %s and not %s", got, want)
	}
	if got := l.call("a__sch_defs", `{}`); !strings.Contains(got, "the server has it no more") || !strings.Contains(got, "a/sch_defs") {
		t.Errorf("a call of a tool that has gone: %s", got)
	}
	l.close()

	// The call itself may be what starts the server.
	if err := os.Remove(filepath.Join(filepath.Dir(opt.ConfigFiles[0]), "gate")); err != nil {
		t.Fatal(err)
	}
	gate, open = gated(t, opt, works(""))
	scripted(t, opt, "a", gate)
	l = live(t, opt)
	l.same("before it is asked again", after)
	answered := make(chan string)
	go func() { answered <- l.call("a__sch_empty", `{}`) }()
	open()
	if got := <-answered; !strings.Contains(got, "the server has it no more") {
		t.Errorf("a call of a tool that has gone: %s", got)
	}
	l.close()
}

// Stopped for lack of use, a server keeps its place; under settings with which it
// cannot be started it has none, until it gets those back that it had.
func TestTheListFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	toml := one + "idle_timeout = \"1s\"\n"
	opt := options(t, toml)
	scripted(t, opt, "a", works(""))
	l := live(t, opt)
	list := l.list()
	l.state("a", "idle")
	l.same("while the server is stopped", list)
	scripted(t, opt, "a", broken)
	for _, step := range []struct {
		toml string
		kept bool
	}{
		{toml + "args = [\"x\"]\n", false}, {toml, true}, {toml + "enabled = false\n", false}, {toml, true},
	} {
		rewrite(t, opt, step.toml)
		if err := l.h.Reload(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(step.toml, "enabled") {
			l.state("a", "failed")
		}
		await(t, l.told, "notifications/tools/list_changed")
		if got := l.list(); (got == list) != step.kept || strings.Contains(got, "a__") != step.kept {
			t.Errorf("with %s the list is %s", step.toml, got)
		}
	}
	l.close()
}

// A name without prefix stays the tool's that had it first.
func TestPlainNamesSurvive(t *testing.T) {
	t.Parallel()
	opt := options(t, strings.NewReplacer("[host]", "[host]\nwire_names = \"plain\"", "600s", "0s").Replace(one)+"[servers.b]\ncommand = \"./b\"\n")
	scripted(t, opt, "a", works(""))
	gate, open := gated(t, opt, works("-fault schema:defs"))
	scripted(t, opt, "b", gate)
	l := live(t, opt)
	l.state("a", "ready")
	first := l.list()
	open()
	l.state("b", "ready")
	list := l.list()
	if !strings.Contains(first, `{"name":"echo"`) || strings.Count(list, `{"name":"echo"`) != 1 || !strings.Contains(list, `"sch_defs"`) {
		t.Errorf("the list is\n%s\nand before b was there\n%s", list, first)
	}
	l.close()
	for _, script := range []string{broken, works("-fault schema:defs")} {
		scripted(t, opt, "a", script)
		scripted(t, opt, "b", script)
		l = live(t, opt)
		l.same("after a restart", list)
		l.close()
	}
}

// The prompts of a server that does not come up hold up those of others for no
// longer than connect_wait, and one that is asked for says why it is not there. When it
// comes up after all, whoever has the list without them is told.
func TestPromptsOfAServerThatIsDown(t *testing.T) {
	t.Parallel()
	opt := options(t, strings.Replace(one, "600s", "2s", 1))
	scripted(t, opt, "a", "exec "+goSDKServer(t, "everything-server"))
	l := live(t, opt)
	request := func(method, params string) string {
		t.Helper()
		raw, err := l.c.Request(patient(t), method, json.RawMessage(params), mcp.RequestOptions{})
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
	if got := request("prompts/list", `{}`); !strings.Contains(got, `"a__test_simple_prompt"`) {
		t.Fatal(got)
	}
	l.close()
	scripted(t, opt, "a", hanging)
	l = live(t, opt)
	for range 20 { // which together would take longer than the test may
		if got := request("prompts/list", `{}`); gjson.Get(got, "prompts").Raw != "[]" {
			t.Errorf("while the server hangs the prompts are %s", got)
		}
	}
	l.close()
	gate, open := gated(t, opt, "exec "+goSDKServer(t, "everything-server"))
	scripted(t, opt, "a", gate)
	l = live(t, opt)
	if got := request("prompts/list", `{}`); gjson.Get(got, "prompts").Raw != "[]" {
		t.Errorf("before the server came the prompts are %s", got)
	}
	open()
	await(t, l.told, "notifications/prompts/list_changed")
	if got := request("prompts/list", `{}`); !strings.Contains(got, `"a__test_simple_prompt"`) {
		t.Errorf("after it was told that the server came: %s", got)
	}
	l.close()
	scripted(t, opt, "a", broken)
	l = live(t, opt)
	if got := request("prompts/get", `{"name":"a__test_simple_prompt"}`); !strings.Contains(got, "the disk is gone") {
		t.Error(got)
	}
	l.close()
}
