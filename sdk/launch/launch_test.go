package launch

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

func TestStartDescribeStop(t *testing.T) {
	p := start(t, "")
	reply, err := p.Adapter().Describe(t.Context(), &adapterpb.DescribeRequest{})
	if err != nil || reply.GetName() != "test" {
		t.Fatalf("Describe: %v, %v", reply, err)
	}
	if err := p.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	if exit := p.Exit(); exit.Reason != "" {
		t.Errorf("Exit before Done: %+v", exit)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	exit := p.Exit()
	if exit.Reason != "exit status 0" || !exit.Requested || strings.Join(exit.Tail, "|") != "closed" {
		t.Errorf("Exit: %+v", exit)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if _, err := p.ServeHost(nil); err == nil {
		t.Error("ServeHost after the end succeeded")
	}
}

// failures of Start: what class, and what a person reads.
func TestStartFailures(t *testing.T) {
	for _, test := range []struct {
		fault string
		class failure.Class
		says  []string
	}{
		{"junk,exit=3", failure.ConnectionRefused, []string{faulty, "exit status 3", "npm notice: junk", `{"level":"info"}`, "3 lines"}},
		{"stderr=no such key,exit=4", failure.ConnectionRefused, []string{"exit status 4", "no such key"}},
		{"junk,nohandshake", failure.Timeout, []string{faulty, "500ms", "start_timeout", "npm notice: junk"}},
		{"slow=1m", failure.Timeout, []string{"500ms"}},
		{"closestdout", failure.ConnectionRefused, []string{"closed its stdout without a handshake"}},
		{"version=2", failure.ConnectionRefused, []string{"version 2 of the adapter contract", "speaks 1"}},
		{"core=2", failure.ConnectionRefused, []string{"version 2 of go-plugin's own handshake"}},
		{"netrpc", failure.ConnectionRefused, []string{"no collet adapter", "netrpc"}},
		{"unhealthy", failure.ConnectionRefused, []string{faulty, "NOT_SERVING"}},
		{"deaf", failure.Timeout, []string{"500ms"}},
	} {
		t.Run(test.fault, func(t *testing.T) {
			s := spec(test.fault)
			if test.class == failure.Timeout {
				s.StartTimeout = 500 * time.Millisecond
			}
			before := processes(t)
			_, err := Start(t.Context(), s)
			var f *failure.Failure
			if !errors.As(err, &f) || f.Class != test.class || f.Delivery != failure.NotSent {
				t.Fatalf("got %v: %v", f, err)
			}
			for _, text := range test.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the message lacks %q:\n%v", text, err)
				}
			}
			if left := processes(t); len(left) > len(before) {
				t.Errorf("processes left: %v", left)
			}
		})
	}
}

// What is no adapter starts, and is told by its first answer.
func TestOtherService(t *testing.T) {
	p := start(t, "otherservice")
	if _, err := p.Adapter().Configure(t.Context(), &adapterpb.ConfigureRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("Configure: %v", err)
	}
}

// A plugin can name the socket of a process that will not die with it.
func TestSomebodyElsesSocket(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "launch")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := spec("address=" + l.Addr().String())
	s.StartTimeout = 300 * time.Millisecond
	began := time.Now()
	_, err = Start(t.Context(), s)
	var f *failure.Failure
	if !errors.As(err, &f) || f.Class != failure.Timeout {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s, as long as gRPC waits for an answer", took)
	}
}

func TestStartCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLog()
	s := spec("stderr=waiting,nohandshake")
	s.OnStderr = func(line []byte) { l.line(line); cancel() }
	before := processes(t)
	_, err := Start(ctx, s)
	var f *failure.Failure
	if !errors.As(err, &f) || f.Class != failure.Canceled || f.Delivery != failure.NotSent {
		t.Errorf("got %v", err)
	}
	if left := processes(t); len(left) > len(before) {
		t.Errorf("processes left: %v", left)
	}

	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = Start(ctx, spec("nohandshake"))
	if !errors.As(err, &f) || f.Class != failure.Timeout || !strings.Contains(err.Error(), "caller's time") {
		t.Errorf("the caller's deadline: %v", err)
	}
}
