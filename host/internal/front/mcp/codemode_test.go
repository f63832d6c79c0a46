package mcp

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/schema"
)

// The definition is valid, and what is said of the arguments in it is what is checked.
func TestCodeModeDefinition(t *testing.T) {
	d := gjson.Parse(codeMode.definition)
	if !json.Valid([]byte(codeMode.definition)) || d.Get("name").String() != codeMode.name {
		t.Fatalf("%s", codeMode.definition)
	}
	var schemas schema.Cache
	in := schemas.Compile(json.RawMessage(d.Get("inputSchema").Raw))
	for args, ok := range map[string]bool{
		`{"code":"x"}`: true, `{"code":"x","timeout_ms":100}`: true, `{"code":"x","timeout_ms":600000}`: true, `{"code":"x","timeout_ms":99}`: false,
		`{"code":"x","timeout_ms":600001}`: false, `{"code":"x","timeout_ms":100.5}`: false, `{"code":"x","timeout_ms":"100"}`: false,
		`{"code":"x","max_output_tokens":100}`: true, `{"code":"x","max_output_tokens":50000}`: true, `{"code":"x","max_output_tokens":50001}`: false,
		`{"code":"x","max_output_tokens":99}`: false, `{}`: false, `{"code":null}`: false, `{"code":"x","language":"ts"}`: false, `{"code":""}`: true,
	} {
		if _, fault := scriptOf(json.RawMessage(args)); (fault == "") != ok || (len(in.Validate(json.RawMessage(args))) == 0) != ok {
			t.Errorf("%s: %q, by the schema %v; want ok: %v", args, fault, in.Validate(json.RawMessage(args)), ok)
		}
	}
}

// Any arguments are read within the bounds, or refused.
func FuzzScriptOf(f *testing.F) {
	for _, seed := range []string{`{"code":"x","timeout_ms":1e3,"max_output_tokens":null}`, `[]`, `null`, ``, `{"code":"x","code":1}`, `{"code":"\ud800","timeout_ms":1e999}`, `{"timeout_ms":-1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		s, fault := scriptOf(arguments)
		if fault != "" {
			return
		}
		if s.Timeout < 0 || s.Timeout > 10*time.Minute || s.Timeout != 0 && s.Timeout < 100*time.Millisecond || s.Tokens < 0 || s.Tokens > 50_000 || s.Tokens != 0 && s.Tokens < 100 {
			t.Errorf("%q: %+v", arguments, s)
		}
	})
}
