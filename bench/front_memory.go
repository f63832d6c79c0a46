package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"time"

	"github.com/collet-dev/collet/bench/internal/proc"
	"github.com/collet-dev/collet/sdk/mcp"
)

// frontIdle measures the resident memory of collet serve with fifty servers that
// nobody calls, and what collet adds to the memory of these servers: itself and an
// adapter for each.
func frontIdle(ctx context.Context, t *table, p *programs) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	config, err := p.serving(manyServers, "")
	if err != nil {
		return err
	}
	const (
		limit = 60 << 20
		added = 220 << 20 // by collet to the memory of fifty servers
	)
	s, err := p.serveStdio(ctx, config)
	if err != nil {
		return err
	}
	defer s.Close()
	answer, err := s.List()
	if n := bytes.Count(answer, []byte(`"name":"echo`)); err == nil && n != 2*manyServers {
		err = fmt.Errorf("%d tools of %d servers are listed", n, manyServers)
	}
	if err != nil {
		return err
	}
	file := fmt.Sprintf("/proc/%d/status", s.Pid())
	for _, state := range []struct {
		words string
		wait  time.Duration
	}{{"just listed", 0}, {"at rest", 15 * time.Second}} {
		select {
		case <-time.After(state.wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		rss, err := proc.Bytes(file, "VmRSS")
		if err != nil {
			return err
		}
		t.line(fmt.Sprintf("RSS of serve with %d servers, %s", manyServers, state.words), "-", size(rss), "", "<= "+size(limit), rss <= limit)
		sum, processes, err := proc.Family(s.Pid(), p.bin)
		if err == nil && processes != 1+manyServers {
			err = fmt.Errorf("%d processes of collet serve %d servers", processes, manyServers)
		}
		if err != nil {
			return err
		}
		figure := fmt.Sprintf("PSS of serve and the adapters of %d servers, %s", manyServers, state.words)
		if state.wait == 0 { // what they started with is not given back yet
			t.note(figure, "-", size(sum), "")
			continue
		}
		t.line(figure, "-", size(sum), "", "<= "+size(added), sum <= added)
	}
	return nil
}

// manySessions is how many clients of the initialize era have a session at once.
const manySessions = 10000

// frontSessions measures what a session of the initialize era costs the heap, with
// a server in this process that has nothing behind it.
func frontSessions(ctx context.Context, t *table) error {
	s := mcp.NewServer(nobody{}, mcp.ServerOptions{Name: "bench", MaxSessions: manySessions})
	defer s.Close(ctx)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	h := s.HTTP()
	open := func() error {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(hello))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Header().Get("Mcp-Session-Id") == "" {
			return fmt.Errorf("initialize: %d %s", w.Code, w.Body)
		}
		return nil
	}
	if err := open(); err != nil { // warm
		return err
	}
	before := heap()
	for range manySessions - 1 {
		if err := open(); err != nil {
			return err
		}
	}
	each := (heap() - before) / (manySessions - 1)
	t.note(fmt.Sprintf("heap per session of %d over HTTP", manySessions), "-", size(each), "")
	return nil
}

// heap is what is alive.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what has finalizers is gone after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

type nobody struct{}

func (nobody) Describe(context.Context, *mcp.Caller) mcp.Description { return mcp.Description{} }

func (nobody) Handle(context.Context, *mcp.Incoming) (json.RawMessage, error) {
	return nil, mcp.ErrMethodNotFound
}
