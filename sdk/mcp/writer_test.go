package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
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

// A message goes out at once where there is room for it, and whole, behind those of
// before, where there is not.
func TestWriterWritesAtOnce(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wr := newWriter(w, func(err error) { t.Error(err) })
	if wr.now == nil {
		t.Skip("not on this system")
	}
	small, large := []byte("small\n"), append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	first := &outgoing{message: small}
	if err := wr.enqueue(first); err != nil || len(wr.queue) != 0 {
		t.Fatalf("%d queued, %v", len(wr.queue), err)
	}
	if wr.withdraw(first) {
		t.Error("what was written was withdrawn")
	}
	begun, behind := &outgoing{message: large, reply: true}, &outgoing{message: small}
	for _, o := range []*outgoing{begun, behind} {
		if err := wr.enqueue(o); err != nil {
			t.Fatal(err)
		}
	}
	if len(wr.queue) != 2 || wr.bytes <= len(small) || wr.bytes >= len(large)+len(small) || wr.replies != 1 || wr.replyBytes != wr.bytes-len(small) {
		t.Errorf("%d queued, of %d bytes, %d replies of %d", len(wr.queue), wr.bytes, wr.replies, wr.replyBytes)
	}
	if wr.withdraw(begun) || wr.queue[0] == begun {
		t.Error("what was written in part was withdrawn")
	}
	done := make(chan struct{})
	go func() { wr.run(); close(done) }()
	want := slices.Concat(small, large, small)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, or other bytes", err)
	}
	wr.finish()
	<-done
	if n, err := r.Read(got); n != 0 || err != io.EOF {
		t.Errorf("%q, %v", got[:n], err)
	}
}

// Many write, the pipe is small, and no message is torn.
func TestWriterFromManyGoroutines(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wr := newWriter(w, func(err error) { t.Error(err) })
	done := make(chan struct{})
	go func() { wr.run(); close(done) }()
	const writers, each = 16, 200
	var sending sync.WaitGroup
	for i := range writers {
		sending.Go(func() {
			for n := range each {
				line := fmt.Appendf(nil, "%d %d %s\n", i, n, strings.Repeat("x", n*37%3000))
				if err := wr.enqueue(&outgoing{message: line}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		sending.Wait()
		wr.finish()
	}()
	next := make([]int, writers)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var i, n int
		var x string
		_, _ = fmt.Sscan(lines.Text(), &i, &n, &x)
		if n != next[i] || len(x) != n*37%3000 {
			t.Fatalf("writer %d: message %d with %d bytes, want %d", i, n, len(x), next[i])
		}
		next[i]++
	}
	<-done
	for i, n := range next {
		if n != each {
			t.Errorf("writer %d: %d messages", i, n)
		}
	}
}
