package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// codeParse is JSON-RPC 2.0 section 5.1, "Parse error".
const codeParse = -32700

var nullID = []byte("null")

// readMessage reads one message of a client, strictly: whoever writes to a server
// has read a specification. refusal is the answer to what is none; it may be one
// answer to each request of a batch.
func readMessage(b []byte) (e envelope, refusal []byte) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	i := skipSpace(b, 0)
	if !utf8.Valid(b) {
		return e, errorResponse(nullID, codeParse, "Parse error: the message is not valid UTF-8", nil)
	}
	if i < len(b) && b[i] != '{' {
		if err := checkDocument(b); err != nil {
			return e, errorResponse(nullID, codeParse, "Parse error: the message "+err.Error(), nil)
		}
		if b[i] == '[' {
			return e, refuseBatch(b[i:])
		}
		return e, errorResponse(nullID, codeInvalidRequest, "Invalid Request: the message is no JSON object", nil)
	}
	end := i
	err := error(errTruncated)
	if i < len(b) {
		e, end, err = scanEnvelope(b, i)
	}
	if err == nil && skipSpace(b, end) != len(b) {
		err = errSyntax
	}
	if err != nil {
		return e, errorResponse(nullID, codeParse, "Parse error: the message "+err.Error(), nil)
	}
	if why := e.invalid(); why != "" {
		id := nullID
		if validID(e.id) && e.repeated != "id" {
			id = e.id
		}
		return e, errorResponse(id, codeInvalidRequest, "Invalid Request: "+why, nil)
	}
	return e, nil
}

// invalid says what is wrong with a message by JSON-RPC 2.0 sections 4 and 5 and
// by MCP, where null is no id; "" is nothing.
func (e *envelope) invalid() string {
	if e.repeated != "" {
		return "the member " + e.repeated + " is repeated"
	}
	if v, _ := text(e.version); v != "2.0" {
		return `jsonrpc must be "2.0"`
	}
	if e.method == nil {
		if e.id == nil || e.result == nil && e.err == nil {
			return "there is no method"
		}
		return ""
	}
	if m, ok := text(e.method); !ok || m == "" {
		return "the method is not a string"
	}
	if e.id != nil && !validID(e.id) {
		return "the id is neither a string nor a number"
	}
	return ""
}

func validID(id []byte) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9')
}

// noBatches is what clients of other versions than batchVersion are told.
const noBatches = "Invalid Request: batches are not supported"

// refuseBatch answers a batch, which MCP dropped in 2025-06-18: each request in it,
// or, where there is none, the batch.
func refuseBatch(b []byte) []byte {
	const why = noBatches
	var answers []byte
	eachElement(b, 0, 0, func(v []byte) {
		if len(answers) > maxErrorBody || !isObject(v) {
			return
		}
		if e, _, err := scanEnvelope(v, 0); err == nil && e.method != nil && validID(e.id) && e.repeated == "" {
			answers = append(answers, errorResponse(e.id, codeInvalidRequest, why, nil)...)
		}
	})
	if answers == nil {
		return errorResponse(nullID, codeInvalidRequest, why, nil)
	}
	return answers
}

// demand is one request of a client on its way through the server.
type demand struct {
	caller     *Caller
	client     *client // nil for a modern caller
	id         []byte
	method     string
	params     []byte // nil or an object
	meta       []byte // nil or an object
	level      string
	streamed   bool                 // send can be used before the answer
	send       func(message []byte) // never blocks
	ask        asker
	announcing sync.Mutex // held while send runs
	answered   bool
	prepared   *Prepared // the result in place of the one that was returned; nil for none
}

// asker sends a request to the client in the middle of one of its own.
type asker func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// newDemand reads a request. An error is its answer.
func newDemand(e envelope) (*demand, error) {
	d := &demand{id: e.id, params: e.params}
	d.method, _ = text(e.method)
	if d.params == nil {
		return d, nil
	}
	if !isObject(d.params) {
		return d, &WireError{Code: codeInvalidParams, Message: "Invalid params: params must be an object"}
	}
	var seen [len(weighed)]bool
	repeated := ""
	eachMember(d.params, 0, 0, func(name, value []byte) {
		for i, w := range weighed {
			if !sameName(name, w) {
				continue
			}
			if seen[i] {
				repeated = w
			}
			seen[i] = true
			if i == 0 {
				d.meta = value
			}
			break
		}
	})
	if repeated != "" {
		return d, &WireError{Code: codeInvalidParams, Message: "Invalid params: the member " + repeated + " is repeated"}
	}
	if d.meta != nil && !isObject(d.meta) {
		return d, &WireError{Code: codeInvalidParams, Message: "Invalid params: _meta must be an object"}
	}
	return d, nil
}

// weighed are the members of params by which a request is judged, here and by who
// handles it. Two of one name could be read as one thing here and as another one
// further on.
var weighed = [...]string{"_meta", "name", "uri", "ref", "arguments", "inputResponses", "requestState", "protocolVersion"}

// modern reads what every request of the modern era says of its sender. spoken is
// the version it names, which need not be one of ours; "" is none, and then the
// request is of the other era.
func (d *demand) modern() (spoken string, err error) {
	var version, capabilities, info, level []byte
	if d.meta != nil {
		eachMember(d.meta, 0, 0, func(name, value []byte) {
			key, ours := bytes.CutPrefix(name, []byte(metaPrefix))
			if !ours {
				return
			}
			switch string(key) {
			case "protocolVersion":
				version = value
			case "clientCapabilities":
				capabilities = value
			case "clientInfo":
				info = value
			case "logLevel":
				level = value
			}
		})
	}
	if version == nil {
		return "", nil
	}
	spoken, ok := text(version)
	switch {
	case !ok || spoken == "":
		return "", invalidMeta("protocolVersion", "is not a string")
	case spoken != modernVersion:
		return spoken, unsupportedVersion(spoken)
	case capabilities == nil:
		return spoken, invalidMeta("clientCapabilities", "is missing")
	case !isObject(capabilities):
		return spoken, invalidMeta("clientCapabilities", "is not an object")
	case info != nil && !isObject(info):
		return spoken, invalidMeta("clientInfo", "is not an object")
	}
	if level != nil {
		if d.level, ok = text(level); !ok || severity(d.level) < 0 {
			return spoken, invalidMeta("logLevel", "is no log level")
		}
	}
	d.caller = &Caller{Version: spoken, Modern: true, Info: info, Capabilities: capabilities}
	return spoken, nil
}

func invalidMeta(name, why string) error {
	return &WireError{Code: codeInvalidParams, Message: "Invalid params: _meta member " + metaPrefix + name + " " + why}
}

// unsupportedVersion is 2026-07-28's UnsupportedProtocolVersionError.
func unsupportedVersion(requested string) error {
	data := append([]byte(`{"supported":`), versionList()...)
	data = append(append(append(data, `,"requested":`...), appendString(nil, requested)...), '}')
	return &WireError{Code: codeUnsupportedVersion, Message: "Unsupported protocol version", Data: data}
}

func versionList() string { return `["` + strings.Join(Versions(), `","`) + `"]` }

// legacyOnly are the methods that the modern era does not have.
var legacyOnly = []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}

// handle answers a request, subscriptions/listen and initialize excepted.
func (s *Server) handle(ctx context.Context, d *demand) (json.RawMessage, error) {
	if d.caller.Modern {
		switch {
		case d.method == "server/discover":
			return s.discover(ctx, d.caller), nil
		case slices.Contains(legacyOnly, d.method):
			return nil, ErrMethodNotFound
		}
		return s.pass(ctx, d)
	}
	switch d.method {
	case "ping":
		return json.RawMessage("{}"), nil
	case "logging/setLevel":
		return d.client.setLevel(d.params)
	case "resources/subscribe":
		return s.watch(ctx, d.caller, d.client, d.params)
	case "resources/unsubscribe":
		return s.unwatch(d.client, d.params)
	case "server/discover", "subscriptions/listen":
		return nil, invalidMeta("protocolVersion", "is missing")
	}
	return s.pass(ctx, d)
}

// pass hands a request to the handler.
func (s *Server) pass(ctx context.Context, d *demand) (json.RawMessage, error) {
	r := &Incoming{Caller: d.caller, Method: d.method, Params: d.params, Meta: d.meta, LogLevel: d.level}
	if d.streamed {
		if token := member(d.meta, "progressToken"); validID(token) {
			r.Progress = func(params json.RawMessage) {
				d.notify("notifications/progress", params, `"progressToken":`, token)
			}
		}
		if d.level != "" {
			least := severity(d.level)
			r.Log = func(params json.RawMessage) {
				if level, _ := text(member(trim(params), "level")); severity(level) >= least {
					d.notify("notifications/message", params, "", nil)
				}
			}
		}
		if d.ask != nil {
			r.Ask = d.ask
		}
	}
	result, err := s.handler.Handle(ctx, r)
	d.announcing.Lock()
	d.answered = true
	d.announcing.Unlock()
	d.prepared = r.Prepared
	return result, err
}

// notify sends a notification that belongs to the request, with one more member in
// its params.
func (d *demand) notify(method string, params json.RawMessage, name string, value []byte) {
	if checkObject("params", params) != nil {
		return
	}
	b := make([]byte, 0, len(params)+len(value)+128)
	b = append(append(append(b, `{"jsonrpc":"2.0","method":"`...), method...), `","params":{`...)
	b = append(append(b, name...), value...)
	b, _ = appendMembers(b, params, value != nil, func(n []byte) bool { return value != nil && sameName(n, "progressToken") })
	b = append(b, "}}\n"...)
	d.announcing.Lock()
	defer d.announcing.Unlock()
	if !d.answered {
		d.send(b)
	}
}

// notified takes a client's notification, of which only one concerns a server.
func (a *answers) notified(e envelope) {
	if method, _ := text(e.method); method == "notifications/cancelled" && isObject(e.params) {
		a.cancel(member(e.params, "requestId"))
	}
}

// levels are MCP's log levels, the least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// severity orders log levels; -1 is none.
func severity(level string) int { return slices.Index(levels, level) }
