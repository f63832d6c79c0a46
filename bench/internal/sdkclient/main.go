// Command sdkclient says, as one line of JSON, what a client of the official Go SDK
// finds behind collet serve. It is what test/clients/front.mjs is for the SDKs in
// TypeScript, for a test of package host; it is here because no other module that
// ships may require that SDK.
//
//	sdkclient VERSION http URL
//	sdkclient VERSION stdio COMMAND [ARGUMENT...]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is more than everything here takes on a busy machine.
const patience = 2 * time.Minute

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f, err := look(ctx, os.Args[1], os.Args[2], os.Args[3:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdkclient:", err)
		os.Exit(1)
	}
}

// findings are the members that front.mjs prints, too.
type findings struct {
	Version   string    `json:"version"`
	Tools     []string  `json:"tools"`
	Echo      string    `json:"echo"`
	Found     []string  `json:"found"`
	Pending   []string  `json:"pending"`
	Sum       string    `json:"sum"`
	Asked     string    `json:"asked"`
	Progress  []float64 `json:"progress"`
	Unknown   int       `json:"unknown"`
	Prompts   []string  `json:"prompts"`
	Prompt    string    `json:"prompt"`
	Completed []string  `json:"completed"`
	URI       string    `json:"uri"`
	Read      int       `json:"read"`
	Spilled   string    `json:"spilled"`
	Whole     int       `json:"whole"`
	Scripts   scripts   `json:"scripts"`
	Canceled  bool      `json:"canceled"`
	After     string    `json:"after"`
}

// scripts are what codemode gives.
type scripts struct {
	Sum      []string `json:"sum"`
	Asked    string   `json:"asked"`
	Failed   []any    `json:"failed"`
	Kept     string   `json:"kept"`
	Progress bool     `json:"progress"`
}

// visitor is the client and what it was told besides answers.
type visitor struct {
	*mcp.ClientSession

	mu       sync.Mutex
	progress []float64
	messages []string      // of the same
	began    chan struct{} // capacity 1: there was progress
}

func look(ctx context.Context, version, kind string, target []string) (*findings, error) {
	v := &visitor{began: make(chan struct{}, 1)}
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann <& Co>"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			v.mu.Lock()
			v.progress = append(v.progress, r.Params.Progress)
			v.messages = append(v.messages, r.Params.Message)
			v.mu.Unlock()
			select {
			case v.began <- struct{}{}:
			default:
			}
		},
	})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target[0]}
	if kind == "stdio" {
		cmd := exec.Command(target[0], target[1:]...)
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer session.Close()
	v.ClientSession = session
	f := &findings{Version: session.InitializeResult().ProtocolVersion}
	for _, step := range []func(context.Context, *findings) error{v.tools, v.asked, v.reported, v.others, v.spilled, v.scripts, v.canceled} {
		if err := step(ctx, f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// call returns a result and its text.
func (v *visitor) call(ctx context.Context, tool string, arguments any, token string) (*mcp.CallToolResult, string, error) {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	if token != "" {
		params.SetProgressToken(token)
	}
	r, err := v.CallTool(ctx, params)
	if err != nil {
		return nil, "", fmt.Errorf("call %s: %w", tool, err)
	}
	var text []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text = append(text, t.Text)
		}
	}
	return r, strings.Join(text, "\n"), nil
}

// structured reads the structuredContent of a call into what.
func (v *visitor) structured(ctx context.Context, tool string, arguments, what any) error {
	r, _, err := v.call(ctx, tool, arguments, "")
	if err != nil {
		return err
	}
	b, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, what)
}

func (v *visitor) tools(ctx context.Context, f *findings) (err error) {
	for tool, err := range v.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools: %w", err)
		}
		f.Tools = append(f.Tools, tool.Name)
	}
	if _, f.Echo, err = v.call(ctx, "n__echo", map[string]any{"text": "<&>"}, ""); err != nil {
		return err
	}
	var found struct {
		Tools   []struct{ Name string }
		Pending []struct{ Server string }
	}
	if err := v.structured(ctx, "tool_search", map[string]any{"query": "sum of two numbers", "limit": 1}, &found); err != nil {
		return err
	}
	for _, t := range found.Tools {
		f.Found = append(f.Found, t.Name)
	}
	for _, p := range found.Pending {
		f.Pending = append(f.Pending, p.Server)
	}
	if len(f.Found) == 0 {
		return errors.New("tool_search finds nothing")
	}
	_, f.Sum, err = v.call(ctx, "tool_call", map[string]any{"name": f.Found[0], "arguments": map[string]any{"a": 2, "b": 40}}, "")
	return err
}

func (v *visitor) asked(ctx context.Context, f *findings) (err error) {
	_, f.Asked, err = v.call(ctx, "tool_call", map[string]any{"name": "old/trigger-elicitation-request", "arguments": map[string]any{}}, "")
	return err
}

func (v *visitor) reported(ctx context.Context, f *findings) error {
	if _, _, err := v.call(ctx, "n__t_progress", map[string]any{"ms": 400, "step": 100}, "p1"); err != nil {
		return err
	}
	patience := time.After(10 * time.Second)
	for {
		v.mu.Lock()
		f.Progress = slices.Clone(v.progress)
		v.mu.Unlock()
		if len(f.Progress) >= 3 {
			return nil
		}
		select { // the SDK answers a call before it has handled all that came before the answer
		case <-v.began:
		case <-patience:
			return nil
		}
	}
}

func (v *visitor) others(ctx context.Context, f *findings) error {
	var wire *jsonrpc.Error
	if _, _, err := v.call(ctx, "nothing", map[string]any{}, ""); errors.As(err, &wire) {
		f.Unknown = int(wire.Code)
	}
	for p, err := range v.Prompts(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the prompts: %w", err)
		}
		f.Prompts = append(f.Prompts, p.Name)
	}
	prompt, err := v.GetPrompt(ctx, &mcp.GetPromptParams{Name: "old__args-prompt", Arguments: map[string]string{"city": "<&>"}})
	if err != nil {
		return fmt.Errorf("get a prompt: %w", err)
	}
	if t, ok := prompt.Messages[0].Content.(*mcp.TextContent); ok {
		f.Prompt = t.Text
	}
	completed, err := v.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "old__completable-prompt"},
		Argument: mcp.CompleteParamsArgument{Name: "department", Value: "E"},
	})
	if err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	f.Completed = completed.Completion.Values
	for r, err := range v.Resources(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the resources: %w", err)
		}
		f.URI = r.URI
		break
	}
	read, err := v.ReadResource(ctx, &mcp.ReadResourceParams{URI: f.URI})
	if err != nil {
		return fmt.Errorf("read %s: %w", f.URI, err)
	}
	f.Read = len(read.Contents)
	return nil
}

func (v *visitor) spilled(ctx context.Context, f *findings) error {
	var spilled struct{ Error struct{ Code, Handle string } }
	if err := v.structured(ctx, "tool_call", map[string]any{"name": "n/c_big", "arguments": map[string]any{"size": 20000}}, &spilled); err != nil {
		return err
	}
	f.Spilled = spilled.Error.Code
	for offset, more := 0, true; more; {
		var part struct {
			Data string
			Next *struct{ Offset int }
		}
		if err := v.structured(ctx, "result_read", map[string]any{"handle": spilled.Error.Handle, "path": "content.0.text", "offset": offset}, &part); err != nil {
			return err
		}
		f.Whole += len(part.Data)
		if more = part.Next != nil && part.Next.Offset > offset; more {
			offset = part.Next.Offset
		}
	}
	return nil
}

// outcome is the structuredContent of codemode.
type outcome struct {
	Value     json.RawMessage
	Error     struct{ Kind, Line any }
	Truncated struct{ Resource string }
}

func (v *visitor) scripts(ctx context.Context, f *findings) error {
	run := func(arguments map[string]any) (out outcome, err error) {
		err = v.structured(ctx, "codemode", arguments, &out)
		return out, err
	}
	sum, err1 := run(map[string]any{"code": `return [await call("old/get-sum", { a: 2, b: 40 }), await tools.n.echo({ text: "<&>" })]`})
	asked, err2 := run(map[string]any{"code": `return await call("old/trigger-elicitation-request")`})
	threw, err3 := run(map[string]any{"code": "const x = 1\nthrow new TypeError('no ' + x)"})
	late, err4 := run(map[string]any{"code": "for (;;) ;", "timeout_ms": 300})
	none, err5 := run(map[string]any{"code": 7})
	long, err6 := run(map[string]any{"code": `for (let i = 0; i < 1000; i++) text("line " + i)`, "max_output_tokens": 100})
	err := errors.Join(err1, err2, err3, err4, err5, err6)
	if err != nil {
		return err
	}
	f.Scripts.Failed = []any{threw.Error.Line, late.Error.Kind, none.Error.Kind}
	if err := errors.Join(json.Unmarshal(sum.Value, &f.Scripts.Sum), json.Unmarshal(asked.Value, &f.Scripts.Asked)); err != nil {
		return err
	}
	var part struct{ Data string }
	if err := v.structured(ctx, "result_read", map[string]any{"handle": long.Truncated.Resource, "lines": "500"}, &part); err != nil {
		return err
	}
	f.Scripts.Kept = part.Data
	_, _, err = v.call(ctx, "codemode", map[string]any{"code": "await Promise.all([1, 2].map(() => tools.n.t_sleep({ ms: 400 })))"}, "scripts")
	v.mu.Lock()
	defer v.mu.Unlock()
	f.Scripts.Progress = slices.Contains(v.messages, "2 calls made, 2 in flight")
	return err
}

func (v *visitor) canceled(ctx context.Context, f *findings) (err error) {
	for range len(v.began) {
		<-v.began // of before
	}
	endless, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the call
		select {
		case <-v.began:
			cancel()
		case <-endless.Done():
		}
	}()
	_, _, err = v.call(endless, "n__t_progress_forever", map[string]any{}, "p2")
	f.Canceled = errors.Is(err, context.Canceled)
	_, f.After, err = v.call(ctx, "n__echo", map[string]any{"text": "still here"}, "")
	return err
}
