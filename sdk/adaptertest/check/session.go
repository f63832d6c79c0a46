package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
	"github.com/collet-dev/collet/sdk/launch"
)

// maxQuoted bounds what is quoted of a plugin's texts, in bytes.
const maxQuoted = 300

// session is one process of the plugin, as a host has it.
type session struct {
	adapterpb.AdapterClient
	proc *launch.Process
	s    *subject
	log  heard

	streamed bool // calls share a stream
	laning   sync.Mutex
	stream   *lane
}

// heard looks for secrets in what a process prints, and keeps none of it.
type heard struct {
	mu      sync.Mutex
	secrets []string
	found   string // the first line with one in it
}

func (h *heard) line(line []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, secret := range h.secrets {
		if h.found == "" && bytes.Contains(line, []byte(secret)) {
			h.found = string(line)
		}
	}
}

// start starts the plugin without configuring it.
func (s *subject) start(ctx context.Context, env ...string) (*session, error) {
	return s.startListening(ctx, nil, env...)
}

func (s *subject) startListening(ctx context.Context, secrets []string, env ...string) (*session, error) {
	p := &session{s: s, log: heard{secrets: secrets}}
	dir, err := os.MkdirTemp(s.root, "cwd")
	if err != nil {
		return nil, err
	}
	proc, err := launch.Start(ctx, launch.Spec{
		Path: s.opt.Path, Name: "verify", Env: s.env(env...), Dir: dir, StartTimeout: s.patient(startLimit), OnStderr: p.log.line,
	})
	if err != nil {
		return nil, err
	}
	p.proc, p.AdapterClient = proc, proc.Adapter()
	return p, nil
}

// open starts the plugin and gives it its settings.
func (s *subject) open(ctx context.Context) (*session, error) {
	p, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.configure(ctx, s.opt.Config); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close ends the process. It does not matter here how.
func (p *session) close() {
	p.laning.Lock()
	l := p.stream
	p.stream = nil
	p.laning.Unlock()
	if l != nil {
		l.close()
	}
	p.proc.Kill()
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.proc.Done():
	case <-timer.C:
	}
}

// request is a Configure with settings.
func (p *session) request(config json.RawMessage) (*adapterpb.ConfigureRequest, error) {
	data, err := os.MkdirTemp(p.s.root, "data")
	if err != nil {
		return nil, err
	}
	req := &adapterpb.ConfigureRequest{Server: "verify", Config: p.s.config(config), HostVersion: "0.0.0", DataDir: data}
	if slices.Contains(p.s.desc.GetFeatures(), "ask") {
		// Nobody is there to be asked: Unimplemented says so.
		if req.HostService, err = p.proc.ServeHost(adapterpb.UnimplementedHostServer{}); err != nil {
			return nil, err
		}
	}
	return req, nil
}

func (p *session) configure(ctx context.Context, config json.RawMessage) error {
	req, err := p.request(config)
	if err != nil {
		return err
	}
	ctx, cancel := p.s.within(ctx, stepLimit)
	defer cancel()
	if _, err = p.Configure(ctx, req); err != nil {
		return broken("Configure: %w", p.said(err))
	}
	return nil
}

// maxPages bounds a list: an adapter that never stops paging is broken.
const maxPages = 1000

// list asks for every page of the tools. revision is that of the first.
func (p *session) list(ctx context.Context) (tools []*adapterpb.Tool, revision string, err error) {
	ctx, cancel := p.s.within(ctx, stepLimit)
	defer cancel()
	token := ""
	for page := range maxPages {
		resp, err := p.ListTools(ctx, &adapterpb.ListToolsRequest{PageToken: token})
		if err != nil {
			return nil, "", err
		}
		if page == 0 {
			revision = resp.GetRevision()
		}
		tools = append(tools, resp.GetTools()...)
		if token = resp.GetNextPageToken(); token == "" {
			return tools, revision, nil
		}
	}
	return nil, "", fmt.Errorf("it has more than %d pages", maxPages)
}

// answer is how one call ended.
type answer struct {
	result  []byte // of the last result; nil for none
	isError bool
	asks    bool    // it ended in input_required
	events  int     // results and input_required
	done    float64 // the progress so far
	fell    string  // how progress fell, "" when it did not
	after   string  // what came after the end
	err     error   // the status; nil when the stream ended by itself
}

// call makes one call and reads it to its end. each is told of every event; may be nil.
func (p *session) call(ctx context.Context, req *adapterpb.CallToolRequest, each func()) answer {
	var a answer
	if req.CallId == "" {
		req.CallId = "verify"
	}
	if p.streamed {
		return p.callStreamed(ctx, req, each)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.CallTool(ctx, req)
	if err != nil {
		a.err = err
		return a
	}
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return a
		}
		if err != nil {
			a.err = err
			return a
		}
		if a.events > 0 {
			a.after = fmt.Sprintf("%T", ev.GetEvent())
		}
		switch ev := ev.GetEvent().(type) {
		case *adapterpb.CallToolEvent_Progress:
			a.progressed(ev.Progress)
		case *adapterpb.CallToolEvent_Result:
			a.events++
			a.result, a.isError = ev.Result.GetResult(), ev.Result.GetIsError()
		case *adapterpb.CallToolEvent_InputRequired:
			a.events++
			a.asks = true
		}
		if each != nil {
			each()
		}
	}
}

func (a *answer) progressed(p *adapterpb.Progress) {
	if done := p.GetDone(); done < a.done && a.fell == "" {
		a.fell = fmt.Sprintf("from %v to %v", a.done, done)
	} else {
		a.done = done
	}
}

// bounded is call within one step's limit.
func (p *session) bounded(ctx context.Context, c Call) answer {
	ctx, cancel := p.s.within(ctx, stepLimit)
	defer cancel()
	return p.call(ctx, &adapterpb.CallToolRequest{Tool: c.Tool, Arguments: c.Arguments}, nil)
}

// alive says why the process serves no more, nil when it does.
func (p *session) alive(ctx context.Context) error {
	ctx, cancel := p.s.within(ctx, stepLimit)
	defer cancel()
	if err := p.proc.Healthy(ctx); err != nil {
		return p.said(err)
	}
	return nil
}

// exitWait is how long an end that is expected, or feared, is waited for.
const exitWait = 500 * time.Millisecond

// said words an error of the process: what it says of a failure, or how it ended.
func (p *session) said(err error) error {
	if f := failure.FromStatus(err); f != nil {
		return fmt.Errorf("%s: %s", f.Class, excerpt.Of(f.Error(), maxQuoted))
	}
	if f := (*failure.Failure)(nil); errors.As(err, &f) && status.Code(err) == codes.Unknown {
		err = errors.New(f.Error())
	}
	if p.proc == nil { // its process is not ours to ask
		return err
	}
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	if status.Code(err) == codes.Unavailable || status.Code(err) == codes.Canceled {
		select {
		case <-p.proc.Done():
		case <-timer.C:
		}
	}
	if exit := p.proc.Exit(); exit.Reason != "" {
		return fmt.Errorf("the process ended (%s)%s", exit.Reason, quoteTail(exit.Tail))
	}
	st, ok := status.FromError(err)
	switch {
	case !ok:
		return err
	case st.Code() == codes.DeadlineExceeded:
		return errors.New("no answer in time")
	}
	return fmt.Errorf("the status %s without a Failure: %s", st.Code(), excerpt.Of(st.Message(), maxQuoted))
}

// quoteTail is the last lines of stderr as the end of a sentence.
func quoteTail(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	lines = lines[max(0, len(lines)-4):]
	return "; its stderr ends: " + excerpt.Of(strings.Join(lines, " | "), maxQuoted)
}

// base is the plugin's file name, for sentences.
func (s *subject) base() string { return filepath.Base(s.opt.Path) }
