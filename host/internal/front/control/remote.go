package control

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/sdk/failure"
)

// askWait bounds what has no time of its own: the host has the answer in memory.
const askWait = 10 * time.Second

// Lost reports whether an error is that the connection to the host ended.
func Lost(err error) bool {
	_, lost := errors.AsType[*errLost](err)
	return lost
}

func (c *Client) get(ctx context.Context, op byte, request, to any) error {
	body, err := c.do(ctx, op, pack(request), nil)
	if err != nil || to == nil {
		return err
	}
	return unpack(body, to)
}

// brief is get for what is answered from memory; what cannot be had is left as it is.
func (c *Client) brief(op byte, request, to any) error {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	return c.get(ctx, op, request, to)
}

// Problems are those of the host's configuration.
func (c *Client) Problems() []host.Problem { return c.Welcome.Problems }

// HookLogs are those of the host when it was reached.
func (c *Client) HookLogs() []host.HookLog { return c.Welcome.HookLogs }

// Servers are the host's, as they are now, or as they were when it was reached.
func (c *Client) Servers() []host.Server {
	var servers []host.Server
	if c.brief(opServers, nil, &servers) != nil {
		return c.Welcome.Servers
	}
	return servers
}

// Tools is Host.Tools.
func (c *Client) Tools(ctx context.Context, q host.Query) (*host.Listing, error) {
	var l listing
	if err := c.get(ctx, opTools, q, &l); err != nil {
		return nil, err
	}
	list := &host.Listing{Servers: l.Servers, Tools: make([]host.Tool, 0, len(l.Tools))}
	for i := range l.Tools {
		list.Tools = append(list.Tools, *l.Tools[i].unpack())
	}
	return list, nil
}

// Tool is Host.Tool.
func (c *Client) Tool(ctx context.Context, canonical string) (*host.Tool, error) {
	var t tool
	if err := c.get(ctx, opTool, toolRequest{canonical}, &t); err != nil {
		return nil, c.failure(ctx, canonical, failure.NotSent, err)
	}
	return t.unpack(), nil
}

// Known is Host.Known.
func (c *Client) Known(ctx context.Context, canonical string) (*host.Tool, time.Time) {
	var k knownAnswer
	if c.get(ctx, opKnown, toolRequest{canonical}, &k) != nil || k.Tool == nil {
		return nil, time.Time{}
	}
	return k.Tool.unpack(), k.Asked
}

// Call is Host.Call. Its questions and its progress come to this process.
func (c *Client) Call(ctx context.Context, req host.Request) (*host.Result, error) {
	talk := c.talk(ctx, req.Consent, func(string) host.Asker { return req.Ask })
	defer talk.end()
	r := callRequest{Request: req, Progress: req.OnProgress != nil, Consent: req.Consent != nil, Asks: req.Ask != nil}
	r.Request.OnProgress, r.Request.OnLog, r.Request.Ask, r.Request.Consent = nil, nil, nil, nil
	begun := time.Now()
	body, err := c.do(ctx, opCall, pack(r), func(m message) {
		if m.op == opProgress && req.OnProgress != nil {
			var p host.Progress
			if unpack(m.body, &p) == nil {
				req.OnProgress(p)
			}
			return
		}
		talk.heard(m)
	})
	res := new(host.Result)
	if err == nil {
		err = unpack(body, res)
	}
	if err != nil {
		f := c.failure(ctx, req.Tool, failure.DeliveryUnknown, err)
		if own, ok := errors.AsType[*host.Failure](f); ok && own.Duration == 0 {
			own.Duration = time.Since(begun)
		}
		return nil, f
	}
	return res, nil
}

// failure is err as the *host.Failure that methods of a host return.
func (c *Client) failure(ctx context.Context, canonical string, delivery failure.Delivery, err error) error {
	if f, ok := errors.AsType[*host.Failure](err); ok {
		return f
	}
	server, own, _ := name.Split(canonical)
	f := &host.Failure{Server: server, Tool: own, Attempts: 1}
	switch {
	case ctx.Err() != nil:
		f.Failure = *failure.New(failure.Canceled, delivery, "canceled; the running host (pid %d) has not said what became of it", c.Welcome.Pid)
	case delivery == failure.DeliveryUnknown:
		f.Failure = *failure.New(failure.ConnectionRefused, delivery, "%w; whether the call had an effect is not known", err)
	default:
		f.Failure = *failure.New(failure.ConnectionRefused, delivery, "%w", err)
	}
	f.Origin = failure.OriginHost
	return f
}

// Run is Host.Run, but for Store, Allow, AllowServer, Ask, OnLog and OnProgress, which
// stay in this process: Patterns narrows what the script may use, and AskFor answers.
func (c *Client) Run(ctx context.Context, s host.ScriptRequest) (host.ScriptOutcome, error) {
	talk := c.talk(ctx, s.Consent, s.AskFor)
	defer talk.end()
	r := runRequest{
		Source: s.Source, Args: s.Args, ID: s.ID, Limits: s.Limits, Deterministic: s.Deterministic, Now: s.Now,
		Owner: s.Owner, Session: s.Session, Patterns: s.Patterns, Narrow: s.Patterns != nil, DryRun: s.DryRun, Meta: s.Meta,
		Consent: s.Consent != nil, Asks: s.AskFor != nil, Watched: s.OnCall != nil,
	}
	body, err := c.do(ctx, opRun, pack(r), func(m message) {
		if m.op == opScriptCall && s.OnCall != nil {
			var call host.ScriptCall
			if unpack(m.body, &call) == nil {
				s.OnCall(call)
			}
			return
		}
		talk.heard(m)
	})
	var out host.ScriptOutcome
	if err == nil {
		err = unpack(body, &out)
	}
	return out, err
}

// Search is Host.Search.
func (c *Client) Search(ctx context.Context, q host.SearchQuery) (json.RawMessage, error) {
	return c.do(ctx, opSearch, pack(q), nil)
}

// Instructions is Host.Instructions.
func (c *Client) Instructions() string {
	var text string
	_ = c.brief(opInstructions, nil, &text)
	return text
}

// Prompt is Host.Prompt.
func (c *Client) Prompt(e host.Exposure, servers []string) host.Prompt {
	var p host.Prompt
	_ = c.brief(opPrompt, promptRequest{e, servers, servers == nil}, &p)
	return p
}

// Definitions is Host.Definitions.
func (c *Client) Definitions(servers []string) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	_ = c.brief(opDefinitions, promptRequest{Servers: servers, All: servers == nil}, &all)
	return all
}

// Status asks how the host is.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	s := new(Status)
	return s, c.get(ctx, opStatus, nil, s)
}

// Stop has the host end, once what it is doing is done, and waits for that until ctx
// ends.
func (c *Client) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.waits = true // it reads nothing more, and that is no reason to give it up
	c.mu.Unlock()
	if err := c.get(ctx, opStop, nil, nil); err != nil && !Lost(err) {
		return err
	}
	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// yieldWait is how long a host may take to let go of its place.
const yieldWait = 2 * time.Second

// Yield has the host let go of its place within two seconds, for another to take it. It
// goes on with those who are connected, and ends when they have gone.
func (c *Client) Yield(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, yieldWait)
	defer cancel()
	return c.get(ctx, opYield, nil, nil)
}

// Stdio makes the connection one to the host's MCP face, whose messages are lines. The
// client is of no more use. The host has a second for it. When that does not run any
// more the connection ends, as it does there when this process has gone: a second one
// tells that to both.
func (c *Client) Stdio(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	c.mu.Lock()
	c.lent = true
	c.mu.Unlock()
	var session attendRequest
	if err := c.get(ctx, opStdio, nil, &session); err != nil {
		return nil, err
	}
	beside, err := c.again(ctx)
	if err == nil {
		err = beside.get(ctx, opAttend, session, nil)
	}
	if err != nil {
		if beside != nil {
			beside.Close()
		}
		return nil, err
	}
	conn := &attended{borrowed{c.s.conn.(half), c.s}, beside}
	beside.work.Go(func() {
		<-beside.closed
		beside.mu.Lock()
		defer beside.mu.Unlock()
		if beside.dead { // else there may be answers to be read, and then it ends
			conn.half.Close()
		}
	})
	return conn, nil
}

// attended is a connection beside which another one sees to it that the host runs.
type attended struct {
	borrowed
	beside *Client
}

func (a *attended) Close() error { return errors.Join(a.half.Close(), a.beside.Close()) }

// half is a connection of which one direction can end.
type half interface {
	net.Conn
	CloseWrite() error
}

// borrowed reads what the stream has read ahead first.
type borrowed struct {
	half
	s *stream
}

func (b *borrowed) Read(p []byte) (int, error) { return b.s.in.Read(p) }

// Write has no limit of its own: the other end reads when it can.
func (b *borrowed) Write(p []byte) (int, error) {
	if err := b.SetWriteDeadline(time.Time{}); err != nil {
		return 0, err
	}
	return b.half.Write(p)
}
