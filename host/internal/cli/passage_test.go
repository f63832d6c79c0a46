package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// passing is a passage with all of its ends in the hands of a test.
type passing struct {
	t      *testing.T
	client *io.PipeWriter // what the client says
	said   *bufio.Reader  // what it is told
	hosts  chan *pipes    // those that are connected to, one after the other
	ended  chan error
}

func startPassing(t *testing.T) (*passing, *pipes) {
	in, client := io.Pipe()
	out, told := io.Pipe()
	p := &passing{t, client, bufio.NewReader(out), make(chan *pipes, 1), make(chan error, 1)}
	first, host := newPipes()
	pass := &passage{out: told, next: func(context.Context) (link, error) {
		here, there := newPipes()
		p.hosts <- there
		return here, nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	go func() { p.ended <- pass.run(ctx, first, in) }()
	return p, host
}

func (p *passing) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.client, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *passing) told(want string) {
	p.t.Helper()
	if line, err := p.said.ReadString('\n'); err != nil || !strings.Contains(line, want) {
		p.t.Fatalf("the client is told %q, %v, want %s", line, err, want)
	}
}

func hears(t *testing.T, host *pipes, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := line(t, host); got != w+"\n" {
			t.Fatalf("the host hears %q, want %s", got, w)
		}
	}
}

// line reads byte by byte: what follows is of the next reader.
func line(t *testing.T, r io.Reader) string {
	t.Helper()
	var b bytes.Buffer
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatal(err)
		}
		b.Write(one)
		if one[0] == '\n' {
			return b.String()
		}
	}
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"n":1.0}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	welcome     = `{"jsonrpc":"2.0","id":0,"result":{"serverInfo":{}}}`
)

// The next host hears how the session began, and again what can be asked twice; a call
// is not made twice, and its client is told so.
func TestPassageGoesOn(t *testing.T) {
	p, host := startPassing(t)
	p.say(initialize)
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	p.told(welcome)
	call, list := `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"n__do"}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for _, said := range []string{initialized, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, call, list} {
		p.say(said)
		hears(t, host, said)
	}
	io.WriteString(host, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	p.told(`"id":1`)
	host.Close()

	host = <-p.hosts
	hears(t, host, initialize)
	io.WriteString(host, `{"jsonrpc":"2.0","method":"notifications/message"}`+"\n"+welcome+"\n") // nobody waits for either
	hears(t, host, initialized)
	p.told(`{"jsonrpc":"2.0","id":"c","result":{"content":[{"type":"text","text":`)
	hears(t, host, list)
	io.WriteString(host, `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`+"\n")
	p.told(`{"tools":[]}`)
	p.say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	hears(t, host, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	host.Close()
	host = <-p.hosts // again, and what was answered is not asked again
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	hears(t, host, initialized, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	io.WriteString(host, `{"jsonrpc":"2.0","id":3,"result":{}}`+"\n")
	p.told(`"id":3`)
	p.client.Close()
	if _, err := io.ReadAll(host); err != nil {
		t.Error(err)
	}
	host.Close()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

func TestLostCallSaysSo(t *testing.T) {
	got := string(lostCall(said{id: `"c"`, tool: "n__do"}))
	for _, want := range []string{`"isError":true`, `"delivery":"unknown"`, `"code":"connection-refused"`, `"id":"c"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// A client of 2026-07-28 has no session. One whose answer to a host is still to come
// cannot go on: the next host could take it for one of its own.
func TestPassageWithoutSession(t *testing.T) {
	p, host := startPassing(t)
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`
	p.say(discover)
	hears(t, host, discover)
	host.Close()
	host = <-p.hosts
	hears(t, host, discover)
	io.WriteString(host, `{"jsonrpc":"2.0","id":7,"method":"elicitation/create"}`+"\n")
	p.told("elicitation/create")
	host.Close()
	if err := <-p.ended; !errors.Is(err, errMidway) {
		t.Errorf("it ended with %v", err)
	}
}

// The requests of a batch (2025-03-26) are answered one by one, as by a host: calls
// that are lost are said to be, and others are asked again, each in a batch of its own.
func TestPassageGoesOnWithABatch(t *testing.T) {
	p, host := startPassing(t)
	p.say(initialize)
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	p.told(welcome)
	io.WriteString(host, `{"jsonrpc":"2.0","id":"asks","method":"roots/list"}`+"\n")
	p.told("roots/list")
	const (
		ping  = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		call  = `{"jsonrpc":"2.0","id":"[c]","method":"tools/call","params":{"name":"n__do","arguments":{"n":1.0}}}`
		list  = `{"jsonrpc":"2.0", "id":2,"method":"tools/list"}`
		gone  = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"n__do"}}`
		again = `{"jsonrpc":"2.0","id":4,"method":"initialize"}`
		roots = `{"jsonrpc":"2.0","id":"asks","result":{"roots":[]}}`
		taken = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`
	)
	batch := " [" + strings.Join([]string{ping, call, list, gone, again, roots, taken, initialized, `7`, `[]`}, " , ") + "]"
	for _, said := range []string{batch, "[]", "[1", "[" + ping + "]x"} {
		p.say(said)
		hears(t, host, said)
	}
	io.WriteString(host, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	p.told(`"id":1`)
	host.Close()

	host = <-p.hosts
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	p.told(`{"jsonrpc":"2.0","id":"[c]","result":{"content":[{"type":"text","text":`)
	hears(t, host, "["+list+"]", "["+again+"]")
	for _, answer := range []string{`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`, `{"jsonrpc":"2.0","id":4,"error":{}}`} {
		io.WriteString(host, answer+"\n")
		p.told(answer)
	}
	host.Close()
	host = <-p.hosts // nothing of it is left
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	p.say(ping)
	hears(t, host, ping)
	p.client.Close()
	host.Close()
}

// A host that ends before the session has gone over is followed by another, and what is
// lost is told once.
func TestPassageGoesOnTwice(t *testing.T) {
	p, host := startPassing(t)
	p.say(initialize)
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	p.told(welcome)
	call, list := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n__do"}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for _, said := range []string{call, list} {
		p.say(said)
		hears(t, host, said)
	}
	host.Close()
	host = <-p.hosts
	hears(t, host, initialize)
	host.Close() // without an answer
	host = <-p.hosts
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	p.told(`"delivery":"unknown"`)
	host.Close() // before it hears the rest
	host = <-p.hosts
	hears(t, host, initialize)
	io.WriteString(host, welcome+"\n")
	hears(t, host, list)
	io.WriteString(host, `{"jsonrpc":"2.0","id":2,"result":{}}`+"\n")
	p.told(`"id":2`)
	p.client.Close()
	if _, err := io.ReadAll(host); err != nil {
		t.Error(err)
	}
	host.Close()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}
