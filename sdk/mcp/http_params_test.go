package mcp

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestHeaderValue(t *testing.T) {
	for in, want := range map[string]string{
		"us-west1": "us-west1", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"": "", "a\tb": "a\tb", "\ta": "=?base64?CWE=?=", "a\x7f": "=?base64?YX8=?=", "=?base64?x": "=?base64?x", "a\r": "=?base64?YQ0=?=",
	} {
		if got := headerValue(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPrimitive(t *testing.T) {
	for in, want := range map[string]string{
		`"a\n"`: "a\n", `true`: "true", `false`: "false", `42`: "42", `-7`: "-7", `0`: "0", `42.0`: "42", `1e3`: "1000", `-0`: "-0",
		`9007199254740993`: "9007199254740993", // no digit is lost
	} {
		if got, ok := primitive([]byte(in)); !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{`null`, `{}`, `[]`, `1.5`, ``} {
		if got, ok := primitive([]byte(in)); ok {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func TestHeadersOf(t *testing.T) {
	schema := func(s string) string { return `{"name":"t","inputSchema":` + s + `}` }
	property := func(s string) string { return schema(`{"type":"object","properties":{"p":` + s + `}}`) }
	for name, test := range map[string]struct {
		tool string
		want string // "header=path", or "!" and a part of the error
	}{
		"none":              {property(`{"type":"string"}`), ""},
		"no schema":         {`{"name":"t"}`, ""},
		"string":            {property(`{"type":"string","x-mcp-header":"Region"}`), "Mcp-Param-Region=p"},
		"escaped name":      {property(`{"type":"string","x-mcp\u002dheader":"Region"}`), "Mcp-Param-Region=p"},
		"integer, boolean":  {schema(`{"properties":{"a":{"type":"integer","x-mcp-header":"a"},"b":{"type":"boolean","x-mcp-header":"b"}}}`), "Mcp-Param-A=a Mcp-Param-B=b"},
		"or null":           {property(`{"type":["string","null"],"x-mcp-header":"R"}`), "Mcp-Param-R=p"},
		"nested":            {property(`{"type":"object","properties":{"q":{"type":"string","x-mcp-header":"Q"}}}`), "Mcp-Param-Q=p.q"},
		"a property of it":  {schema(`{"properties":{"x-mcp-header":{"type":"string"}}}`), ""},
		"in data":           {property(`{"type":"string","default":{"x-mcp-header":"X"},"examples":[{"x-mcp-header":1}]}`), ""},
		"empty":             {property(`{"type":"string","x-mcp-header":""}`), "!no name"},
		"no string":         {property(`{"type":"string","x-mcp-header":7}`), "!no name"},
		"space":             {property(`{"type":"string","x-mcp-header":"My Region"}`), "!no name of an HTTP header"},
		"line break":        {property(`{"type":"string","x-mcp-header":"a\r\nb"}`), "!no name of an HTTP header"},
		"not ASCII":         {property(`{"type":"string","x-mcp-header":"Région"}`), "!no name of an HTTP header"},
		"colon":             {property(`{"type":"string","x-mcp-header":"a:b"}`), "!no name of an HTTP header"},
		"twice":             {schema(`{"properties":{"a":{"type":"string","x-mcp-header":"R"},"b":{"type":"string","x-mcp-header":"r"}}}`), "!twice"},
		"number":            {property(`{"type":"number","x-mcp-header":"R"}`), "!string, integer or boolean"},
		"object":            {property(`{"type":"object","x-mcp-header":"R"}`), "!string, integer or boolean"},
		"no type":           {property(`{"x-mcp-header":"R"}`), "!string, integer or boolean"},
		"two types":         {property(`{"type":["string","integer"],"x-mcp-header":"R"}`), "!string, integer or boolean"},
		"at the root":       {schema(`{"type":"string","x-mcp-header":"R"}`), "!properties alone"},
		"in items":          {property(`{"type":"array","items":{"type":"string","x-mcp-header":"R"}}`), "!properties alone"},
		"in anyOf":          {property(`{"anyOf":[{"type":"string","x-mcp-header":"R"}]}`), "!properties alone"},
		"in $defs":          {schema(`{"$defs":{"d":{"type":"string","x-mcp-header":"R"}}}`), "!properties alone"},
		"in if":             {schema(`{"if":{"properties":{"p":{"type":"string","x-mcp-header":"R"}}}}`), "!properties alone"},
		"below additional":  {schema(`{"additionalProperties":{"properties":{"p":{"type":"string","x-mcp-header":"R"}}}}`), "!properties alone"},
		"properties of odd": {schema(`{"properties":[{"x-mcp-header":"R"}]}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := headersOf([]byte(test.tool))
			if part, bad := strings.CutPrefix(test.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v, %v; want an error with %q", found, err, part)
				}
				return
			}
			var got []string
			for _, h := range found {
				got = append(got, h.header+"="+strings.Join(h.path, "."))
			}
			if err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}

// A tool with invalid annotations is left out over HTTP and nowhere else.
func TestInvalidAnnotations(t *testing.T) {
	const tools = `{"tools":[{"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},` +
		`{"name":"bad","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}},{"name":"plain","inputSchema":{}}]}`
	logged := &records{}
	var headers []string
	c := dial(t, Endpoint{URL: listenOn(t, modernServer(func(w http.ResponseWriter, r *http.Request, e envelope) {
		headers = append(headers, r.Header.Get("Mcp-Param-A"))
		answerWith(w, e.id, tools)
	})).URL}, Options{Log: logged.logger()})
	list, err := c.ListTools(within(t))
	if err != nil || len(list) != 2 || !strings.Contains(logged.String(), "tool=bad") {
		t.Errorf("%s, %v\n%s", list, err, logged)
	}
	callTool(t, c, "good", `{ "a" : "x" }`)
	callTool(t, c, "plain", `{"a":"x"}`)
	callTool(t, c, "good", `{}`)
	if want := []string{"", "x", "", ""}; !slices.Equal(headers, want) {
		t.Errorf("headers %q, want %q", headers, want)
	}
	l := &toolList{names: map[string]bool{}} // as over stdio
	if _, f := l.add([]byte(tools)); f != nil || len(l.Tools) != 3 {
		t.Errorf("%d tools, %v", len(l.Tools), f)
	}
}

// FuzzHeadersOf: whatever a schema looks like, what comes out can be sent.
func FuzzHeadersOf(f *testing.F) {
	f.Add([]byte(`{"inputSchema":{"properties":{"p":{"type":"string","x-mcp-header":"R"}}}}`), []byte(`{"p":"a\nb"}`))
	f.Add([]byte(`{"inputSchema":{"anyOf":[{"x-mcp-header":"R"}]}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, tool, args []byte) {
		if checkObject("", tool) != nil || checkObject("", args) != nil {
			t.Skip()
		}
		found, err := headersOf(trim(tool))
		if err != nil {
			return
		}
		p := &paramHeaders{}
		p.replace(map[string][]paramHeader{"t": found})
		header := http.Header{}
		p.set(header, "t", args)
		for name, values := range header {
			if f := checkHeader(name, values); f != nil || strings.Trim(values[0], " \t") != values[0] {
				t.Errorf("%q: %q", name, values)
			}
		}
	})
}
