package mcp

import (
	"errors"
	"io"
	"testing"
)

// stuck is a peer that takes n bytes and fails the write that goes beyond once
// told so.
type stuck struct {
	started chan struct{}
	fail    chan struct{}
	n       int
}

func (s *stuck) Write(b []byte) (int, error) {
	close(s.started)
	<-s.fail
	return s.n, errors.New("broken")
}

func (s *stuck) Close() error { return nil }

func TestWriterWithdraw(t *testing.T) {
	w := &stuck{started: make(chan struct{}), fail: make(chan struct{})}
	failed := make(chan error, 1)
	wr := newWriter(w, func(err error) { failed <- err })
	first, second := &outgoing{message: []byte("first\n")}, &outgoing{message: []byte("second\n")}
	if err := wr.enqueue(first); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { wr.run(); close(done) }()
	<-w.started
	if err := wr.enqueue(second); err != nil {
		t.Fatal(err)
	}
	if wr.withdraw(first) {
		t.Error("a message that is being written was withdrawn")
	}
	if !wr.withdraw(second) || len(wr.queue) != 0 {
		t.Error("a waiting message could not be withdrawn")
	}
	if wr.enqueue(second) == nil {
		t.Error("a withdrawn message was taken")
	}
	close(w.fail)
	<-done
	if err := <-failed; err == nil {
		t.Error("the error was not reported")
	}
	if wr.enqueue(&outgoing{}) == nil {
		t.Error("a writer that failed took a message")
	}
}

// Of several messages in one write only those that were reached have begun.
func TestWriterFailsMidBatch(t *testing.T) {
	w := &stuck{started: make(chan struct{}), fail: make(chan struct{}), n: 8}
	wr := newWriter(w, func(error) {})
	messages := []*outgoing{{message: []byte("first\n")}, {message: []byte("second\n")}, {message: []byte("third\n")}}
	for _, o := range messages {
		if err := wr.enqueue(o); err != nil {
			t.Fatal(err)
		}
	}
	close(w.fail)
	wr.run()
	for i, want := range []bool{true, true, false} {
		if messages[i].began != want {
			t.Errorf("message %d began: %v, want %v", i, messages[i].began, want)
		}
	}
}

// A peer that asks and never reads does not fill our memory.
func TestWriterBoundsReplies(t *testing.T) {
	_, w := io.Pipe()
	wr := newWriter(w, func(error) {})
	var err error
	n := 0
	for ; err == nil && n < 2*maxReplies; n++ {
		err = wr.enqueue(&outgoing{reply: true})
	}
	if n != maxReplies+1 {
		t.Errorf("%d replies were taken, want %d", n-1, maxReplies)
	}
	if err := wr.enqueue(&outgoing{}); err != nil {
		t.Errorf("a request was refused for the replies' sake: %v", err)
	}
}
