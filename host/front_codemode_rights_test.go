package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// A script sees what its client's credential may see, and learns of nothing else,
// also not of servers that have not started.
func TestCodemodeOfScopedToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.toml")
	text := fmt.Sprintf("[tokens.wide]\nsha256 = \"%x\"\nservers = [\"*\"]\n[tokens.narrow]\nsha256 = \"%x\"\nservers = [\"alpha\"]\ntools = [\"echo\", \"c_big\"]\n[tokens.other]\nsha256 = \"%x\"\nservers = [\"direct\"]\nexposure = \"codemode\"\n",
		sha256.Sum256([]byte(wideToken)), sha256.Sum256([]byte(narrowToken)), sha256.Sum256([]byte(otherToken)))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, `
[servers.alpha]
command = "${BUILT}/faultserver"
[servers.beta]
command = "${BUILT}/faultserver"
[servers.down]
command = "${BUILT}/nothing-here"
[servers.direct]
command = "${BUILT}/faultserver"
exposure = "direct"
`)
	url := endpoint(t, h, host.HTTPOptions{ScopedTokenFile: file})
	for era, opt := range eras {
		t.Run(era, func(t *testing.T) {
			wide, narrow, other := as(t, url, wideToken, opt), as(t, url, narrowToken, opt), as(t, url, otherToken, opt)
			gives(t, wide, `return [Object.keys(tools).sort(), await tools.beta.echo({text: "x"})]`, `[["alpha","beta","direct","down"],"x"]`)
			gives(t, narrow, `return [Object.keys(tools), Object.keys(tools.alpha).sort(), await tools.alpha.echo({text: "x"})]`, `[["alpha"],["c_big","echo"],"x"]`)
			// Of the rest it cannot tell what there is from what there is not.
			gives(t, narrow, `
				const seen = [];
				for (const tool of ["alpha/s_count", "beta/echo", "beta/nothing", "down/echo", "nowhere/echo"])
					for (const ask of [() => call(tool, {text: "x"}), () => describeTool(tool)])
						seen.push(await ask().then(() => "there", (e) => e.code + e.message.replace(tool, "")));
				for (const server of ["beta", "down", "nowhere"])
					seen.push(await describeServer(server).then(() => "there", (e) => e.code + e.message.replace(server, "")));
				return [new Set(seen).size, (await searchTools("echo", {limit: 50})).map((t) => t.name), (await describeServer("alpha")).tools.length]`,
				`[1,["alpha/echo"],2]`)
			if r := script(t, narrow, `return tools.bet.echo({})`); strings.Contains(r.Raw, "beta") {
				t.Errorf("%s", r)
			}
			// What it sees as codemode though it is direct: then it needs the tool.
			if listed(t, other, "direct__echo").Exists() || !listed(t, other, "codemode").Exists() || !listed(t, other, "tool_search").Exists() {
				t.Error("it cannot reach what it may call")
			}
			gives(t, other, `return await tools.direct.echo({text: "x"})`, `"x"`)

			// Nobody reads what another's script has left behind.
			r := script(t, narrow, `store("k", 1); return await tools.alpha.c_big({size: 200000})`)
			handle := r.Get("structuredContent.truncated.resource").String()
			for c, there := range map[*mcp.Client]bool{narrow: true, wide: false, other: false} {
				raw, err := c.CallTool(patient(t), "result_read", json.RawMessage(fmt.Sprintf(`{"handle":%q}`, handle)), mcp.RequestOptions{})
				if err != nil || gjson.GetBytes(raw, "isError").Bool() == there {
					t.Errorf("%.300s %v", raw, err)
				}
			}
			gives(t, narrow, `return load("k")`, `1`)
			gives(t, wide, `return load("k") === undefined`, `true`)
		})
	}
}

// Whether the tool is in the list follows from the tools that servers have, or last
// had, and where nothing is known of them from their rules.
func TestCodemodeIsListed(t *testing.T) {
	t.Parallel()
	const server = "[servers.a]\ncommand = \"${BUILT}/faultserver\"\n"
	const down = "[servers.a]\ncommand = \"${BUILT}/nothing-here\"\n"
	for name, c := range map[string]struct {
		config string
		want   bool
	}{
		"by default":            {server, true},
		"not known yet":         {down, true},
		"direct":                {server + "exposure = \"direct\"\n", false},
		"direct, not known yet": {down + "exposure = \"direct\"\n", false},
		"one tool":              {server + "exposure = \"direct\"\ntool_exposure = {\"echo\" = \"codemode\"}\n", true},
		"no tool of a rule":     {server + "exposure = \"direct\"\ntool_exposure = {\"nothing_*\" = \"codemode\"}\n", false},
		"rules leave none":      {server + "tool_exposure = {\"*\" = \"deferred\"}\n", false},
		"none":                  {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			client := face(t, c.config, mcp.Options{})
			if got := listed(t, client, "codemode").Exists(); got != c.want {
				t.Errorf("listed: %v", got)
			}
			if _, err := client.CallTool(patient(t), "codemode", codemodeArguments("return 1"), mcp.RequestOptions{}); (err == nil) != c.want {
				t.Errorf("called: %v", err)
			}
			// Who takes a function of scripts for a tool is told what it is, where there are scripts.
			if _, err := client.CallTool(patient(t), "searchTools", nil, mcp.RequestOptions{}); err == nil || strings.Contains(err.Error(), "in the code of codemode") != c.want {
				t.Errorf("called as a tool: %v", err)
			}
		})
	}
}

// A call of a script that needs consent is asked about like any other, with the client
// that runs the script; a no is that call's alone.
func TestCodemodeConsent(t *testing.T) {
	t.Parallel()
	url := guarded(t, open(t, "[servers.n]\ncommand = \"${BUILT}/faultserver\"\nconsent = \"ask\"\n[servers.m]\ncommand = \"${BUILT}/faultserver\"\n"))
	code := codemodeArguments(`
		const said = [];
		for (const text of ["first", "second"]) said.push(await tools.n.echo({text}).catch((e) => e.code));
		return [said, await tools.m.echo({text: "unasked"})]`)
	const want = `[["first","denied"],"unasked"]`
	answer := func(question string) string {
		if strings.Contains(question, `A script wants to call the tool echo of the server n with the arguments`) && strings.Contains(question, "first") {
			return `{"action":"accept","content":{}}`
		}
		return `{"action":"decline"}`
	}
	for era, opt := range eras {
		opt.Capabilities = json.RawMessage(`{"elicitation":{}}`)
		opt.OnRequest = func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(answer(gjson.GetBytes(params, "message").String())), nil
		}
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.WithoutCancel(t.Context()))
		raw, err := c.CallTool(patient(t), "codemode", code, mcp.RequestOptions{})
		for err == nil && gjson.GetBytes(raw, "resultType").String() == "input_required" {
			r := gjson.ParseBytes(raw)
			question := firstKey(r.Get("inputRequests"))
			raw, err = c.Request(patient(t), "tools/call", json.RawMessage(`{"name":"codemode","arguments":`+string(code)+
				`,"inputResponses":{"`+question+`":`+answer(r.Get("inputRequests."+question+".params.message").String())+`},"requestState":"`+r.Get("requestState").String()+`"}`), mcp.RequestOptions{})
		}
		if got := gjson.GetBytes(raw, "structuredContent.value").Raw; err != nil || got != want {
			t.Errorf("%s: %s %v", era, raw, err)
		}
	}
	// Who cannot be asked gets the other calls' results all the same.
	for _, opt := range eras {
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.WithoutCancel(t.Context()))
		gives(t, c, `return [await tools.n.echo({text: "x"}).catch((e) => e.code), await tools.m.echo({text: "y"})]`, `["denied","y"]`)
	}
}
