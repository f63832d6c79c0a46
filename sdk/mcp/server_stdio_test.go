package mcp

import (
	"strings"
	"testing"
)

// Both eras on one connection, every id as it was sent.
func TestStdioSpeaksBothEras(t *testing.T) {
	c := newConsole(t, deskServer(t, &desk{}, ServerOptions{}))
	c.expect(`{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{`+modernMeta+`}}`,
		`{"jsonrpc":"2.0","id":"d","result":{"_meta":{`+deskInfo+`},"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],`+
			`"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"instructions":"ask\u000anicely","ttlMs":1500,"cacheScope":"public"}}`)
	c.expect(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta member io.modelcontextprotocol/protocolVersion is missing, and there was no initialize"}}`)
	c.expect(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.expect(legacyHello("1999-01-01", "{}"),
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},`+
			`"instructions":"ask\u000anicely","serverInfo":{"name":"desk","version":"1"}}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, id := range []string{`7`, `7.0`, `"7"`, `1152921504606846976`, `-0`, `1e3`, `"\u00e9"`, `""`} {
		c.expect(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"echo","arguments":{"text":"<&>"}}}`,
			`{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"<&>"}]}}`)
	}
	c.expect(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},`+modernMeta+`}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{`+deskInfo+`},"content":[{"type":"text","text":"x"}]}}`)
}

func TestStdioRefusals(t *testing.T) {
	c := newConsole(t, deskServer(t, &desk{}, ServerOptions{}))
	for _, test := range []struct{ name, line, want string }{
		{"no JSON", `hello`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}`},
		{"cut off", `{"jsonrpc":"2.0","id":1`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message ends in the middle of a value"}}`},
		{"two on a line", `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}`},
		{"bad text", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid UTF-8"}}`},
		{"no object", `7`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the message is no JSON object"}}`},
		{"batch of notifications", `[{"jsonrpc":"2.0","method":"x"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
		{"empty batch", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
		{"batch", `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"x"}]`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`},
		{"no version", `{"id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: jsonrpc must be \"2.0\""}}`},
		{"repeated method", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: the member method is repeated"}}`},
		{"repeated, escaped", `{"jsonrpc":"2.0","id":1,"method":"ping","metho\u0064":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: the member method is repeated"}}`},
		{"repeated id", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the member id is repeated"}}`},
		{"other case", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/list","ID":2}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the id is neither a string nor a number"}}`},
		{"bool id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the id is neither a string nor a number"}}`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: there is no method"}}`},
		{"params", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: params must be an object"}}`},
		{"meta", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta must be an object"}}`},
		{"capabilities missing", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: _meta member io.modelcontextprotocol/clientCapabilities is missing"}}`},
		{"version", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2027-01-01"}}}`},
		{"removed", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{"unknown", `{"jsonrpc":"2.0","id":1,"method":"x/y","params":{` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`},
		{"wire error", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail",` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}}`},
		{"any error", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret",` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`},
		{"no result", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"raw","arguments":{"result":[]},` + modernMeta + `}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`},
		{"mark and return", "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r", `{"jsonrpc":"2.0","id":1,"result":{}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.t = t
			c.expect(test.line, test.want)
		})
	}
	c.t = t
	c.expect(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: batches are not supported"}}`)
	if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":2,`) {
		t.Errorf("second answer to a batch: %s", got)
	}
	c.expect("\n  \n"+`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"result":{}}`)
}
