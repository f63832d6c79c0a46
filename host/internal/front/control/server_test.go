package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/sdk/failure"
)

// patience bounds what these tests wait for.
const patience = 20 * time.Second // less than writeWait

const build = "this build"

// exe ends the name of a program.
var exe = map[string]string{"windows": ".exe"}[runtime.GOOS]

var builtDir string // removed at the end

// built is a directory with the generic plugin and the misbehaving server.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		return "", err
	}
	builtDir = dir
	root, err := filepath.Abs("../../../..")
	if err != nil {
		return "", err
	}
	for name, source := range map[string]string{"collet-plugin-mcp": "plugins/mcp", "faultserver": "sdk/internal/faultserver"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name)+exe, ".")
		cmd.Dir = filepath.Join(root, source)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(builtDir)
	os.Exit(code)
}

// serving is a host of one misbehaving server that is shared at a place.
type serving struct {
	*Server
	place Place
	log   string // of the misbehaving server
	via   transport
}

// everyTransport runs a test over each way to a host that this system can have: the one
// for systems without unix sockets is tried on all of them.
func everyTransport(t *testing.T, run func(*testing.T, transport)) {
	t.Run("native", func(t *testing.T) { run(t, native()) })
	if _, same := native().(*loopback); !same {
		t.Run("loopback", func(t *testing.T) { run(t, new(loopback)) })
	}
}

func serve(t *testing.T, entry string, via transport) *serving {
	t.Helper()
	dir := ""
	if entry != "none" {
		var err error
		if dir, err = built(); err != nil { // before the directory of Go's cache is another one
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"STATE", "CACHE", "DATA"} {
		t.Setenv("XDG_"+kind+"_HOME", t.TempDir())
	}
	s := &serving{via: via, place: place(t), log: filepath.Join(t.TempDir(), "log")}
	config := filepath.Join(t.TempDir(), "mcp.toml")
	text := ""
	if entry != "none" {
		text = fmt.Sprintf("[host]\nplugin_dirs = [%q]\n[servers.n]\ncommand = %q\nargs = ['-log', %q]\n%s", dir, filepath.Join(dir, "faultserver")+exe, s.log, entry)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{ConfigFiles: []string{config}, Asks: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	owner, err := own(s.place, via)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = &Server{Host: h, Build: build, Version: "v", Yielded: func() {}}
	s.Serve(owner)
	t.Cleanup(s.Close)
	return s
}

func (s *serving) dial(t *testing.T) *Client {
	t.Helper()
	c, err := dial(t.Context(), s.place, build, s.via)
	for i := 0; (Silent(err) || errors.Is(err, context.DeadlineExceeded)) && i < 10; i++ { // the machine is busy
		c, err = dial(t.Context(), s.place, build, s.via)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// raw is a connection whose other end has said hello.
func (s *serving) raw(t *testing.T) *stream {
	t.Helper()
	conn, err := s.via.dial(t.Context(), s.place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	st := newStream(conn)
	if err := st.write(opHello, 1, pack(hello{build})); err != nil {
		t.Fatal(err)
	}
	return st
}

// until waits for a number of connections.
func (s *serving) until(t *testing.T, want int) {
	t.Helper()
	limit := time.After(patience)
	for {
		n, changed := s.Clients()
		if n == want {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%d connections, want %d", n, want)
		}
	}
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func logged(t *testing.T, s *serving, want string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // nothing tells of it
		text, _ := os.ReadFile(s.log)
		if strings.Contains(string(text), want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server never got %s:\n%s", want, text)
		}
	}
}

// What belongs to a call comes to the process that made it: questions of the server,
// of the person, progress; and when it gives up the server is told.
func TestCallFromAnotherProcess(t *testing.T) { everyTransport(t, testCallFromAnotherProcess) }

func testCallFromAnotherProcess(t *testing.T, via transport) {
	s := serve(t, "consent = 'ask'\n", via)
	c := s.dial(t)
	var consents, progress int
	yes := func(_ context.Context, q host.ConsentQuestion) (host.ConsentAnswer, error) {
		consents++
		return host.ConsentAnswer{Yes: true}, nil
	}
	res, err := c.Call(patient(t), host.Request{Tool: "n/a_elicit", Consent: yes, Ask: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"action":"accept","content":{"big":9007199254740993}}`), nil
	}})
	if err != nil || !strings.Contains(string(res.JSON), `9007199254740993`) {
		t.Errorf("a question of the server: %v %s", err, res.JSON)
	}
	if consents == 0 {
		t.Error("nobody was asked for consent")
	}
	no := func(context.Context, host.ConsentQuestion) (host.ConsentAnswer, error) {
		return host.ConsentAnswer{}, nil
	}
	_, err = c.Call(patient(t), host.Request{Tool: "n/echo", Arguments: json.RawMessage(`{"text":"x"}`), Consent: no})
	if f, ok := errors.AsType[*host.Failure](err); !ok || f.Class != failure.ConsentRequired || f.Delivery != failure.NotSent {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(patient(t))
	_, err = c.Call(ctx, host.Request{Tool: "n/t_progress_forever", Consent: yes, OnProgress: func(host.Progress) { progress++; cancel() }})
	if f, ok := errors.AsType[*host.Failure](err); !ok || f.Class != failure.Canceled {
		t.Errorf("given up: %v", err)
	}
	if progress == 0 {
		t.Error("no progress came")
	}
	logged(t, s, "notifications/cancelled")
}

// A process that goes while it is asked something has not answered it.
func TestProcessGoesWhileItIsAsked(t *testing.T) { everyTransport(t, testProcessGoesWhileItIsAsked) }

func testProcessGoesWhileItIsAsked(t *testing.T, via transport) {
	s := serve(t, "", via)
	c := s.dial(t)
	_, err := c.Call(patient(t), host.Request{Tool: "n/a_elicit", Ask: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		c.end(net.ErrClosed)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err == nil {
		t.Error("it was answered")
	}
	logged(t, s, `"action":"cancel"`)
	s.until(t, 0)
}

// A process that goes in the middle of a call takes it along.
func TestProcessGoes(t *testing.T) { everyTransport(t, testProcessGoes) }

func testProcessGoes(t *testing.T, via transport) {
	s := serve(t, "", via)
	c := s.dial(t)
	_, _ = c.Call(patient(t), host.Request{Tool: "n/t_progress_forever", OnProgress: func(host.Progress) { c.end(net.ErrClosed) }})
	logged(t, s, "notifications/cancelled")
	s.until(t, 0)
}

// A process that reads nothing holds up nobody: not the host, not its other processes,
// and not calls of the same server.
func TestProcessThatDoesNotRead(t *testing.T) { everyTransport(t, testProcessThatDoesNotRead) }

func testProcessThatDoesNotRead(t *testing.T, via transport) {
	s := serve(t, "", via)
	other := s.dial(t)
	if _, err := other.Call(patient(t), host.Request{Tool: "n/echo", Arguments: json.RawMessage(`{"text":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	deaf := s.raw(t)
	call := pack(callRequest{Request: host.Request{Tool: "n/t_progress", Arguments: json.RawMessage(`{"ms":60000,"step":1}`)}, Progress: true})
	if err := deaf.write(opCall, 2, call); err != nil {
		t.Fatal(err)
	}
	logged(t, s, "60000")
	ping := make([]byte, frameHead)
	ping[0], ping[9] = opPing, 3
	for err := error(nil); err == nil; { // until both directions are full
		if err = deaf.conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err == nil {
			_, err = deaf.conn.Write(ping)
		}
	}
	for range 100 {
		if _, err := other.Call(patient(t), host.Request{Tool: "n/t_progress", Arguments: json.RawMessage(`{"ms":20,"step":10}`)}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close() // must not wait for it either
}

// What is no message ends the connection that it came over, and nothing else.
func TestGarbage(t *testing.T) { everyTransport(t, testGarbage) }

func testGarbage(t *testing.T, via transport) {
	s := serve(t, "none", via)
	other := s.dial(t)
	head := func(op, more byte, length uint32) []byte {
		return []byte{op, more, 0, 0, 0, 0, 0, 0, 0, 9, byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}
	}
	for name, raw := range map[string][]byte{
		"nothing":            {},
		"HTTP":               []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"zeros":              make([]byte, 100),
		"no hello":           head(opTools, 0, 0),
		"a hello of garbage": append(head(opHello, 0, 5), "\xff\xff\xff\xff\xff"...),
		"a large part":       head(opHello, 0, 1<<31),
		"half a message":     append(head(opCall, 1, 4), "abcd"...),
	} {
		conn, err := s.via.dial(t.Context(), s.place)
		if err != nil {
			t.Fatal(name, err)
		}
		_, _ = conn.Write(raw)
		_ = conn.(half).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		for err == nil {
			_, err = conn.Read(make([]byte, 4096))
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays", name)
		}
		conn.Close()
	}
	st := s.raw(t) // greeted: what is no request is refused, one by one
	_ = st.conn.SetDeadline(time.Now().Add(patience))
	for op := range byte(255) {
		if op == opStdio || op == opYield || op == opStop || op == opCancel || op == opAnswer || op == opPing || op == opHello {
			continue
		}
		if err := st.write(op, 100+uint64(op), []byte("\x07\xff\x82\x01garbage")); err != nil {
			t.Fatal(op, err)
		}
	}
	if err := st.write(opPing, 99, nil); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := st.read()
		if err != nil {
			t.Fatal(err)
		}
		if m.id == 99 {
			break
		}
	}
	if _, err := other.Status(patient(t)); err != nil {
		t.Error(err)
	}
	st.conn.Close()
	s.until(t, 1)
}

// One process that begins more than anybody needs is refused the rest of it.
func TestFlood(t *testing.T) { everyTransport(t, testFlood) }

func testFlood(t *testing.T, via transport) {
	s := serve(t, "", via)
	other := s.dial(t)
	if _, err := other.Call(patient(t), host.Request{Tool: "n/echo", Arguments: json.RawMessage(`{"text":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	wild := s.raw(t)
	call := pack(callRequest{Request: host.Request{Tool: "n/t_hang"}})
	for i := range uint64(maxBegun + 10) {
		if err := wild.write(opCall, 10+i, call); err != nil {
			t.Fatal(err)
		}
	}
	_ = wild.conn.SetReadDeadline(time.Now().Add(patience))
	for refused := 0; refused < 10; {
		m, err := wild.read()
		if err != nil {
			t.Fatal(err)
		}
		if m.op == opFailed {
			var f failed
			if err := unpack(m.body, &f); err != nil || !strings.Contains(f.Text, "none was begun") {
				t.Fatalf("%v %+v", err, f)
			}
			refused++
		}
	}
	if _, err := other.Call(patient(t), host.Request{Tool: "n/echo", Arguments: json.RawMessage(`{"text":"x"}`)}); err != nil {
		t.Error(err)
	}
	wild.conn.Close()
	s.until(t, 1)
}

// Ten thousand connections, of which as many stay as are allowed: who is connected does
// not notice, who comes then is turned away at once, and what they held is free again.
func TestManyConnections(t *testing.T) {
	s := serve(t, "none", native())
	other := s.dial(t)
	var held []net.Conn
	for len(held) < maxPeers-1 {
		held = append(held, s.raw(t).conn)
	}
	s.until(t, maxPeers)
	if c, err := dial(t.Context(), s.place, build, s.via); err == nil {
		c.Close()
		t.Error("any number of connections is taken")
	} else if Silent(err) {
		t.Errorf("who is turned away waits: %v", err)
	}
	for range 10_000 - maxPeers {
		conn, err := s.via.dial(t.Context(), s.place)
		for errors.Is(err, syscall.EAGAIN) { // as many wait as the system lets
			runtime.Gosched()
			conn, err = s.via.dial(t.Context(), s.place)
		}
		if err != nil {
			if _, noticed := s.via.(*loopback); noticed { // while both say their secrets
				continue
			}
			t.Fatal(err)
		}
		conn.Close()
	}
	if _, err := other.Status(patient(t)); err != nil {
		t.Error(err)
	}
	for _, conn := range held {
		conn.Close()
	}
	s.until(t, 1)
	s.dial(t)
}

// Schemas are looked at where the host is, once, and not in every process that lists.
func TestVerdictsTravel(t *testing.T) {
	s := serve(t, "", native())
	c := s.dial(t)
	if _, err := c.Tools(patient(t), host.Query{}); err != nil { // starts it, by the schema of its settings
		t.Fatal(err)
	}
	for round := range 2 {
		before := schema.Compiled()
		list, err := c.Tools(patient(t), host.Query{Judge: true})
		if err != nil || len(list.Tools) == 0 {
			t.Fatal(err)
		}
		there := schema.Compiled() - before // by the host, which is of this process
		if want := uint64((1 - round) * len(list.Tools)); there != want {
			t.Errorf("round %d: the host compiled %d schemas, want %d", round, there, want)
		}
		for i := range list.Tools {
			own, err := s.Host.Tool(patient(t), list.Tools[i].Name)
			if err != nil || own.Unchecked() != list.Tools[i].Unchecked() {
				t.Errorf("%s: %v, unchecked here %q, there %q", own.Name, err, list.Tools[i].Unchecked(), own.Unchecked())
			}
		}
		if n := schema.Compiled() - before - there; n != 0 {
			t.Errorf("round %d: the client compiled %d schemas", round, n)
		}
	}
	// A host that was not asked to look says nothing.
	if (&host.Tool{InputSchema: []byte(`{"$ref":"https://example.com"}`)}).Unchecked() == "" {
		t.Error("a tool that no host made is checked by a schema that refers outside")
	}
}
