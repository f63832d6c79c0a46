package host_test

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
)

// TestShippedConfiguration lists and calls every server of the mcp.toml at the
// root of the repository, real servers from npm among them. Nothing of it needs a
// credential or a licence but github and workiq, which say so and hold up nobody.
func TestShippedConfiguration(t *testing.T) {
	if os.Getenv("COLLET_NPM_DIR") == "" {
		t.Skip("COLLET_NPM_DIR does not say that the servers from npm are installed; make test does")
	}
	t.Setenv("GITHUB_TOKEN", "")
	t.Setenv("GH_TOKEN", "")
	t.Setenv("GH_CONFIG_DIR", t.TempDir()) // nobody is logged in
	for _, name := range []string{"SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SERPER_API_KEY"} {
		t.Setenv(name, "")
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1") // no network, whatever there is here
	}
	opt := options(t, "")
	opt.ConfigFiles = []string{"../mcp.toml"}
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	list, err := h.Tools(patient(t), host.Query{})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]string{
		"github": "no GitHub token: set GITHUB_TOKEN",
		"workiq": "Work IQ is not started before a person has accepted its licence: read https://github.com/microsoft/work-iq, then set config",
	}
	partly := map[string]string{
		"azure":     "Microsoft Learn: connect to https://learn.microsoft.com/api/mcp: ",
		"websearch": "no search provider is configured: set one of SEARXNG_URL",
	}
	for _, s := range list.Servers {
		if says := missing[s.Name]; says != "" {
			if s.State != "failed" || !strings.HasPrefix(s.Error, says) || strings.Contains(s.Error, "\n") {
				t.Errorf("%s is %s: %s", s.Name, s.State, s.Error)
			}
			delete(missing, s.Name)
			continue
		}
		// The Azure server is there, Microsoft Learn is not; pages can be read, and nothing searched for.
		if says := partly[s.Name]; says != "" {
			if f := s.Failure; s.State != "degraded" || f == nil || !strings.HasPrefix(f.Message, says) || strings.Contains(f.Message, "\n") {
				t.Errorf("%s is %s: %v", s.Name, s.State, f)
			}
			delete(partly, s.Name)
			continue
		}
		if s.State != "ready" || s.Error != "" {
			t.Errorf("%s is %s: %s", s.Name, s.State, s.Error)
		}
	}
	maps.Copy(missing, partly)
	for name := range missing {
		t.Errorf("%s is not configured", name)
	}
	for _, tool := range list.Tools {
		if tool.Unchecked() != "" || !gjson.ValidBytes(tool.Definition) {
			t.Errorf("%s: unchecked %q", tool.Name, tool.Unchecked())
		}
	}
	for tool, c := range map[string]struct{ args, says string }{
		"hello/greet":          {`{"name":"a<b> & c"}`, "a<b> & c"},
		"everything/echo":      {`{"message":"a<b> & c"}`, "a<b> & c"},
		"everything/get-sum":   {`{"a":2,"b":40}`, "42"},
		"files/read_text_file": {`{"path":"go.work","head":1}`, "go 1."},
		"memory/read_graph":    {`{}`, "entities"},
		"azure/documentation":  {`{"query":"storage keys"}`, "Microsoft Learn cannot be asked"},
		"azure/storage":        {`{"intent":"see"}`, "storage_account_get"},

		"websearch/research_company": {`{"company":"Contoso"}`, "no search provider is configured"},
	} {
		res, err := h.Call(patient(t), host.Request{Tool: tool, Arguments: json.RawMessage(c.args), Caller: host.CLI})
		if err != nil {
			t.Errorf("%s: %v", tool, err)
		} else if text := gjson.GetBytes(res.JSON, "content.0.text").String(); res.IsError || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s", tool, res.JSON)
		}
	}
}
