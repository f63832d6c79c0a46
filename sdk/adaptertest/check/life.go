package check

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

const (
	leaseLimit    = time.Second
	shutdownLimit = 2 * time.Second
	quietLimit    = 300 * time.Millisecond // how long stdout is listened to after the last answer
	// shutdownMethod is go-plugin's request to leave.
	shutdownMethod = "/plugin.GRPCController/Shutdown"
)

// bring starts the plugin raw, with settings if it takes them, and has it list its tools.
func (s *subject) bring(ctx context.Context) (*served, error) {
	p, err := s.serve(ctx)
	if err != nil {
		return nil, err
	}
	step, cancel := s.within(ctx, stepLimit)
	defer cancel()
	if s.hook {
		if _, err := hookpb.NewHookClient(p.conn).Configure(step, &hookpb.ConfigureRequest{Name: "verify", Config: s.config(s.opt.Config)}); err != nil {
			p.close()
			return nil, broken("Configure: %w%s", err, p.quote())
		}
		return p, nil
	}
	if _, err := p.client.Describe(step, &adapterpb.DescribeRequest{}); err != nil {
		p.close()
		return nil, broken("Describe: %w%s", err, p.quote())
	}
	if s.asked && s.configErr == nil && s.startErr == nil {
		if _, err := p.client.Configure(step, &adapterpb.ConfigureRequest{Server: "verify", Config: s.config(s.opt.Config), HostVersion: "0.0.0"}); err != nil {
			p.close()
			return nil, broken("Configure: %w%s", err, p.quote())
		}
		// What becomes of it is another check's business; a child of its own is there after it.
		_, _ = p.client.ListTools(step, &adapterpb.ListToolsRequest{})
	}
	return p, nil
}

// cleanStdout reads the real stdout.
func cleanStdout(ctx context.Context, s *subject) error {
	p, err := s.bring(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	s.callRaw(ctx, p) // without a call to make, the list was all it did
	quiet, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	p.wait(quiet)
	_, rest, _ := bytes.Cut(p.stdout.text(), []byte("\n"))
	if len(rest) > 0 {
		return fmt.Errorf("after the handshake it printed to stdout: %q", excerpt.Of(string(rest), maxQuoted))
	}
	return nil
}

// callRaw calls a tool that may be called, if there is one.
func (s *subject) callRaw(ctx context.Context, p *served) {
	if s.hook || s.startErr != nil || s.configErr != nil {
		return
	}
	q := &session{AdapterClient: p.client, s: s}
	if c, err := q.choose(ctx); err == nil {
		q.bounded(ctx, c.Call)
	}
}

// lease closes the plugin's stdin, as the end of a host does.
func lease(ctx context.Context, s *subject) error {
	p, err := s.bring(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	_ = p.lease.Close()
	step, cancel := s.within(ctx, leaseLimit)
	defer cancel()
	if !p.wait(step) {
		return fmt.Errorf("%s after the end of its stdin it was still running: a host that crashes would leave it behind", s.patient(leaseLimit))
	}
	return s.leftovers("the end of its stdin")
}

// leftovers names processes that outlived the plugin.
func (s *subject) leftovers(after string) error {
	if pids := marked(s.mark); len(pids) > 0 {
		return fmt.Errorf("after %s it is gone, and left %d processes of its own behind (%s)", after, len(pids), strings.Trim(fmt.Sprint(pids), "[]"))
	}
	return nil
}

// shutdown asks it to leave, as a host does.
func shutdown(ctx context.Context, s *subject) error {
	p, err := s.bring(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	step, cancel := s.within(ctx, shutdownLimit)
	defer cancel()
	_ = p.conn.Invoke(step, shutdownMethod, &emptypb.Empty{}, &emptypb.Empty{}) // the answer may be lost with the server
	if !p.wait(step) {
		return fmt.Errorf("%s after Shutdown it was still running", s.patient(shutdownLimit))
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("after Shutdown it ended with %s%s", p.cmd.ProcessState, p.quote())
	}
	return s.leftovers("Shutdown")
}

// addUnknown gives a message a field that nobody knows, as a newer host might.
func addUnknown[M proto.Message](m M) M {
	b := protowire.AppendTag(nil, 1789, protowire.BytesType)
	b = protowire.AppendString(b, "from a newer host")
	b = protowire.AppendTag(b, 1790, protowire.VarintType)
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(b, 1))
	return m
}

// unknownFields says more than the contract has words for.
func unknownFields(ctx context.Context, s *subject) error {
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	step, cancel := s.within(ctx, stepLimit)
	defer cancel()
	if _, err := p.Describe(step, addUnknown(&adapterpb.DescribeRequest{})); err != nil {
		return broken("Describe with an unknown field: %w", p.said(err))
	}
	req, err := p.request(s.opt.Config)
	if err != nil {
		return err
	}
	if _, err := p.Configure(step, addUnknown(req)); err != nil {
		return broken("Configure with an unknown field: %w", p.said(err))
	}
	if _, err := p.ListTools(step, addUnknown(&adapterpb.ListToolsRequest{})); err != nil {
		return broken("ListTools with an unknown field: %w", p.said(err))
	}
	c, err := p.choose(ctx)
	if err != nil {
		return passing("but for a call: %v", err)
	}
	plain := p.bounded(ctx, c.Call)
	if plain.err != nil {
		return passing("but for a call: %s cannot be carried out", c.Tool)
	}
	a := p.call(step, addUnknown(&adapterpb.CallToolRequest{Tool: c.Tool, Arguments: c.Arguments}), nil)
	if a.err != nil {
		return fmt.Errorf("%s with an unknown field in the request: %w", c.Tool, p.said(a.err))
	}
	return nil
}

// twoProcesses runs two at once.
func twoProcesses(ctx context.Context, s *subject) error {
	p, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	q, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("while another process of it runs: %w", err)
	}
	defer q.close()
	for i, one := range []*session{p, q} {
		if err := one.alive(ctx); err != nil {
			return fmt.Errorf("of two processes number %d: %w", i+1, err)
		}
	}
	ofP, _, errP := p.list(ctx)
	ofQ, _, errQ := q.list(ctx)
	if errP != nil || errQ != nil {
		return fmt.Errorf("of two processes one cannot list its tools: %v, %v", errP, errQ)
	}
	if len(ofP) != len(ofQ) {
		return fmt.Errorf("of two processes with the same settings one has %d tools, the other %d", len(ofP), len(ofQ))
	}
	c, err := p.choose(ctx)
	if err != nil {
		return passing("but for calls: %v", err)
	}
	for i, one := range []*session{p, q, p} {
		if err := one.completed(c.Call, one.bounded(ctx, c.Call)); err != nil {
			return fmt.Errorf("of two processes number %d: %w", i%2+1, err)
		}
	}
	return nil
}

// stopped holds the process for a while, as a suspended machine does.
func stopped(ctx context.Context, s *subject) error {
	if !canPause {
		return skip("verify it on another system as well", "processes cannot be stopped on this system")
	}
	p, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.alive(ctx); err != nil {
		return err
	}
	if err := pause(p.proc.Pid()); err != nil {
		return fmt.Errorf("stopping the process: %w", err)
	}
	timer := time.NewTimer(s.opt.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := resume(p.proc.Pid()); err != nil {
		return fmt.Errorf("continuing the process: %w", err)
	}
	if err := p.alive(ctx); err != nil {
		return fmt.Errorf("after it was stopped for %s: %w", s.opt.pause, err)
	}
	if _, _, err := p.list(ctx); err != nil {
		return broken("ListTools after it was stopped for %s: %w", s.opt.pause, p.said(err))
	}
	return nil
}

// refusing is the address of a port where nobody listens.
func refusing() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
