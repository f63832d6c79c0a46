// Command fakeworkiq stands for the program workiq in tests, because using the real
// one is an acceptance of its licence: the commands that this adapter needs, the
// licence that is in the way, its tools before and after the sign-in, and its texts.
// It also stands for an npx that runs that package.
//
// What tests tell it is in the directory .work-iq-cli of HOME: signed-in is there when
// somebody is, next holds the results of the next calls, one line of JSON each, noise
// what it prints on stdout between messages. It keeps eula there, and in told.jsonl
// how it was started and what it was called with. It reaches nothing.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type fake struct {
	dir string
	out io.Writer
}

func run(args []string, in io.Reader, out io.Writer) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	f := &fake{filepath.Join(home, ".work-iq-cli"), out}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	if err := f.tell(map[string]any{"started": append([]string{filepath.Base(args[0])}, args[1:]...)}); err != nil {
		return err
	}
	words := args[1:]
	if strings.HasPrefix(filepath.Base(args[0]), "npx") {
		if len(words) < 2 || words[0] != "-y" || words[1] != "@microsoft/workiq@1.0.0" {
			return fmt.Errorf("npx would ask, or install another version: %q", words)
		}
		words = words[2:]
	}
	switch strings.Join(words, " ") {
	case "mcp":
		return f.serve(in)
	case "accept-eula":
		return f.accept()
	case "auth login":
		return os.WriteFile(f.path("signed-in"), nil, 0o600)
	}
	return fmt.Errorf("unknown command %q", words)
}

func (f *fake) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fake) is(name string) bool {
	_, err := os.Stat(f.path(name))
	return err == nil
}

func (f *fake) accept() error { return os.WriteFile(f.path("eula"), nil, 0o600) }

// tell keeps what a test wants to know.
func (f *fake) tell(what any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(what); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path("told.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(line.Bytes()); err != nil {
		return err
	}
	return file.Close()
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
		ProtocolVersion string          `json:"protocolVersion"`
	} `json:"params"`
}

// serve answers MCP until the end of its input.
func (f *fake) serve(in io.Reader) error {
	if !f.is("signed-in") {
		fmt.Fprintln(os.Stderr, "[MCP Proxy] Failed to fetch remote tools: no account is signed in. Entity tools will not be available in this session.")
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		if noise, err := os.ReadFile(f.path("noise")); err == nil {
			fmt.Fprintf(f.out, "%s\n", noise)
		}
		if len(m.ID) == 0 {
			continue
		}
		if err := f.answer(&m); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (f *fake) answer(m *message) error {
	result := map[string]any{}
	switch m.Method {
	case "initialize":
		result["protocolVersion"] = "2025-11-25"
		result["serverInfo"] = map[string]string{"name": "workiq", "version": "1.0.0"}
		// resources are none of the real one's; that they are not passed on is tested
		result["capabilities"] = map[string]any{"tools": map[string]bool{"listChanged": true}, "resources": map[string]any{}}
	case "ping":
	case "tools/list":
		list := local
		if f.is("signed-in") {
			list = slices.Concat(local, remote)
		}
		result["tools"] = list
	case "tools/call":
		raw, err := f.call(m)
		if err != nil {
			return err
		}
		return f.send(m.ID, raw)
	default:
		_, err := fmt.Fprintf(f.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method '%s' is not available."}}`+"\n", m.ID, m.Method)
		return err
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return f.send(m.ID, raw)
}

func (f *fake) send(id, result json.RawMessage) error {
	_, err := fmt.Fprintf(f.out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	return err
}

func (f *fake) call(m *message) (json.RawMessage, error) {
	if err := f.tell(map[string]any{"tool": m.Params.Name, "arguments": m.Params.Arguments}); err != nil {
		return nil, err
	}
	var args struct {
		EulaURL        string `json:"eulaUrl"`
		Question       string `json:"question"`
		ConversationID string `json:"conversationId"`
	}
	_ = json.Unmarshal(m.Params.Arguments, &args) // no arguments are none of these
	if m.Params.Name == "accept_eula" {
		if args.EulaURL != "https://github.com/microsoft/work-iq" {
			return text("The EULA URL does not match. The EULA was not accepted.", true), nil
		}
		return text("EULA accepted. You can now use the Work IQ tools.", false), f.accept()
	}
	if !f.is("eula") {
		return text("You must accept the EULA before using this tool. Please use the accept_eula tool with the URL of the EULA.", true), nil
	}
	if next, err := f.next(); next != nil || err != nil {
		return next, err
	}
	switch m.Params.Name {
	case "ask", "ask_work_iq":
		if args.Question == "" {
			return text("An error occurred invoking '"+m.Params.Name+"'.", true), nil
		}
		if args.ConversationID == "" {
			args.ConversationID = "c-1"
		}
		envelope, err := json.Marshal(map[string]any{"response": "You asked: " + args.Question, "conversationId": args.ConversationID, "error": nil})
		return text(string(envelope), false), err
	case "list_agents":
		return text(`[{"id":"bizchat-as-gpt-scenario","name":"Copilot"}]`, false), nil
	}
	return text(`{"status":200}`, false), nil
}

// next takes the first line of what a test has laid out.
func (f *fake) next() (json.RawMessage, error) {
	all, err := os.ReadFile(f.path("next"))
	if err != nil || len(all) == 0 {
		return nil, nil
	}
	line, rest, _ := bytes.Cut(all, []byte("\n"))
	return line, os.WriteFile(f.path("next"), rest, 0o600)
}

func text(s string, isError bool) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": s}}, "isError": isError}) // strings encode
	return raw
}

func definition(name, rest string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"name":%q,%s}`, name, rest))
}

const object = `"inputSchema":{"type":"object","properties":{%s},"required":[%s]}`

// local are the tools that the program itself has.
var local = []json.RawMessage{
	definition("accept_eula", `"description":"Accept the End User License Agreement. This tool cannot be automatically invoked.","annotations":{"destructiveHint":true},`+
		fmt.Sprintf(object, `"eulaUrl":{"type":"string"}`, `"eulaUrl"`)),
	definition("ask", `"description":"Ask Microsoft 365 Copilot a question.","icons":[{"src":"data:image/png;base64,AA=="}],`+
		fmt.Sprintf(object, `"question":{"type":"string"},"fileUrls":{"type":["array","null"],"items":{"type":"string"}},"conversationId":{"type":["string","null"]},"agentId":{"type":["string","null"]}`, `"question"`)),
	definition("list_agents", `"description":"List the agents that can be asked.","inputSchema":{"type":"object","properties":{}}`),
}

// remote are those that it has from the organisation, once somebody is signed in.
var remote = func() (list []json.RawMessage) {
	for _, name := range []string{"fetch", "create_entity", "update_entity", "delete_entity", "do_action", "call_function", "search_paths", "get_schema", "fetch_blob"} {
		list = append(list, definition(name, `"description":"`+name+`","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}`))
	}
	return list
}()
