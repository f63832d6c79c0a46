// Package npm serves Context7 through its own MCP server from npm, for where
// that is wanted or the API is out of reach by itself: the server's two tools
// with their own definitions, and lookup over them. It reads what the server
// says, since failures come as texts there.
package npm

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/context7/internal/library"
	"github.com/collet-dev/collet/plugins/context7/internal/tools"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// Package and version that npx is asked for. Another one has to be installed on
// purpose: texts are read here, and change.
const pinned = "@upstash/context7-mcp@4.1.1"

// Options say how to start the server.
type Options struct {
	// Command is the program and its arguments; empty is context7-mcp from the PATH
	// or, where there is none, npx with the pinned version.
	Command  []string
	URL, Key string // of the API; "" is the server's own
}

// New returns a server that has begun to start the MCP server.
func New(env *adapter.Env, opt Options) adapter.Server {
	cmd := command(opt, os.Environ())
	return mcpadapter.New(env, mcpadapter.Options{
		Connect: func(ctx context.Context, env *adapter.Env, opt mcp.Options) (mcpadapter.Upstream, error) {
			opt.ClientInfo = mcp.ClientInfo{Name: "collet", Version: env.HostVersion}
			c, err := mcp.Start(ctx, cmd, opt)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		Shape: mcpadapter.Shape{
			Edit:  edit,
			Judge: judge,
			Own: func(up mcpadapter.Caller) *adapter.Tools {
				var t adapter.Tools
				tools.AddLookup(&t, func(call *adapter.Call) library.Source { return &source{up, call} })
				return &t
			},
		},
	})
}

// command is the process to start. It sees what this one sees, less what is
// between collet and its plugins.
func command(opt Options, environ []string) mcp.Command {
	cmd := mcp.Command{Env: []string{"OTEL_SDK_DISABLED=true"}}
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "COLLET_") && !strings.HasPrefix(entry, "PLUGIN_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	// The last value of a variable counts. Not as an argument: everybody can read those.
	if opt.Key != "" {
		cmd.Env = append(cmd.Env, "CONTEXT7_API_KEY="+opt.Key)
	}
	if opt.URL != "" {
		cmd.Env = append(cmd.Env, "CONTEXT7_API_URL="+opt.URL)
	}
	if len(opt.Command) > 0 {
		cmd.Path, cmd.Args = opt.Command[0], opt.Command[1:]
		return cmd
	}
	cmd.Path = "context7-mcp"
	if _, err := mcp.LookPath(cmd); err != nil {
		cmd.Path, cmd.Args = "npx", []string{"-y", pinned}
	}
	return cmd
}

const (
	resolve = "resolve-library-id"
	query   = "query-docs"
)

// edit promises for the tools of the server what is known of them. Others, of a
// version yet to come, are left as they are.
func edit(t adapter.Tool) (adapter.Tool, bool) {
	t.Definition = mcpadapter.Without(t.Definition, "icons")
	if schema := tools.OutputSchema(t.Name); schema != nil {
		t.ReadOnly, t.Idempotent, t.OutputSchema = new(true), new(true), schema
	}
	return t, true
}

// judge tells answers from failures, and gives answers their structuredContent.
func judge(call *adapter.Call, res *adapter.Result) (*adapter.Result, error) {
	text := mcpadapter.Text(res.JSON)
	switch {
	case res.IsError:
		return res, nil
	case call.Tool != resolve && call.Tool != query: // of a version yet to come
		return &adapter.Result{JSON: mcpadapter.Untrusted(res.JSON)}, nil
	}
	var answer any
	err := reported(text)
	r, refused := errors.AsType[*library.Refusal](err)
	switch {
	case refused && r.Code == noLibraries:
		answer = tools.Libraries{}
	case refused:
		// The tool's own answer; its text is as the server worded it.
		return &adapter.Result{JSON: mcpadapter.With(mcpadapter.Untrusted(res.JSON), "isError", json.RawMessage("true")), IsError: true}, nil
	case err != nil:
		return nil, err
	case call.Tool == query:
		answer = tools.Prose{LibraryID: libraryID(call.Args), Text: text}
	case strings.HasPrefix(text, heading):
		answer = tools.Libraries{Libraries: libraries(text)}
	default:
		f := failure.New(failure.ServerError, failure.Answered, "the server answered with neither libraries nor a text that is known: %.200s", text)
		f.Origin, f.UpstreamData = failure.OriginUpstream, []byte(text[:min(len(text), longest)])
		return nil, f
	}
	return adapter.Untrusted(text, answer)
}

// libraryID is what was asked for, under any of the names that the server takes.
func libraryID(args json.RawMessage) string {
	for _, name := range []string{"libraryId", "context7CompatibleLibraryID", "libraryID", "libraryName"} {
		if id := gjson.GetBytes(args, name); id.Type == gjson.String {
			return id.Str
		}
	}
	return ""
}

// source answers one call of lookup with calls of the server's tools.
type source struct {
	up   mcpadapter.Caller
	call *adapter.Call
}

// Search implements library.Source.
func (s *source) Search(ctx context.Context, query, name string) (library.Found, error) {
	var answer tools.Libraries
	_, err := s.ask(ctx, resolve, map[string]string{"query": query, "libraryName": name}, &answer)
	return library.Found{Libraries: answer.Libraries}, err
}

// maxHops bounds a chain of libraries that moved.
const maxHops = 3

// Text implements library.Source.
func (s *source) Text(ctx context.Context, words, id string) (library.Docs, error) {
	for range maxHops {
		var answer tools.Prose
		text, err := s.ask(ctx, query, map[string]string{"query": words, "libraryId": id}, &answer)
		if to := movedTo(text); err != nil && to != "" {
			id = to
			continue
		}
		return library.Docs{ID: id, Text: answer.Text}, err
	}
	return library.Docs{}, &library.Refusal{Text: "the library has moved in circles, at last to " + id}
}

// Snippets implements library.Source: prose is all there is.
func (s *source) Snippets(ctx context.Context, query, id string) (library.Docs, error) {
	return s.Text(ctx, query, id)
}

// ask calls a tool and decodes its structuredContent. A result with isError is a
// Refusal; its text is returned beside it.
func (s *source) ask(ctx context.Context, tool string, args map[string]string, into any) (string, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	res, err := s.up.CallUpstream(ctx, s.call, tool, raw)
	if err != nil {
		return "", err
	}
	text := mcpadapter.Text(res.JSON)
	if res.IsError {
		return text, &library.Refusal{Text: text}
	}
	if err := json.Unmarshal([]byte(gjson.GetBytes(res.JSON, "structuredContent").Raw), into); err != nil {
		return text, failure.New(failure.InvalidResult, failure.Answered, "%s answered with no structuredContent: %w", tool, err)
	}
	return text, nil
}
