//go:build unix

package host_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	chaosTime    = 60 * time.Second
	chaosShort   = 5 * time.Second
	chaosCallers = 16
	// A caller's own deadline, and how far past it a call may end on a loaded
	// machine. Without the second the first would be a wall-clock assertion.
	chaosDeadline = 8 * time.Second
	chaosSlack    = 10 * time.Second
)

// peer is one server of the chaos: a process below an adapter, or one of ours
// that listens on a port.
type peer struct {
	name   string
	faults string
	n      int
	http   bool

	marks string // the file that s_mark writes to
	addr  string // of an HTTP peer, the same over its restarts
	mu    sync.Mutex
	cmd   *exec.Cmd
}

// chaosPeers are twelve servers of both eras and transports; each is odd in a
// way that leaves its results right.
func chaosPeers() []*peer {
	return []*peer{
		{name: "plain"},
		{name: "modern", faults: "modern"},
		{name: "only", faults: "modern-only,jsonlog"},
		{name: "noisy", faults: "banner,midlog"},
		{name: "junk", faults: "modern,badutf8"},
		{name: "pretty", faults: "pretty,stderrflood"},
		{name: "ids", faults: "id-string,idlast"},
		{name: "stubborn", faults: "grandchild,ignoreterm,eofignore"},
		{name: "session", http: true, faults: "sess404", n: 7},
		{name: "stateless", http: true, faults: "modern"},
		{name: "reset", http: true, faults: "rst-each", n: 6},
		{name: "busy", http: true, faults: "modern,sse,sse-comment,503", n: 4},
	}
}

func (p *peer) entry() string {
	if p.http {
		return fmt.Sprintf("[servers.%s]\nurl = \"http://%s/mcp\"\ntimeout = \"2s\"\nmax_timeout = \"6s\"\n", p.name, p.addr)
	}
	args, err := json.Marshal(p.args())
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("[servers.%s]\ncommand = \"${BUILT}/faultserver\"\nargs = %s\ntimeout = \"2s\"\nmax_timeout = \"6s\"\nstart_timeout = \"5s\"\n",
		p.name, args)
}

func (p *peer) args() []string {
	return []string{"-fault", p.faults, "-state", p.marks, "-n", fmt.Sprint(cmp.Or(p.n, 3)), "-size", "100000"}
}

// listen starts an HTTP peer, on the port it had before if it had one.
func (p *peer) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = exec.Command(filepath.Join(built, "faultserver"), append(p.args(), "-http", cmp.Or(p.addr, "127.0.0.1:0"))...)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("no URL from %s: %w", p.name, err)
	}
	p.addr = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "http://"), "/mcp")
	return nil
}

// kill ends an HTTP peer without a word.
func (p *peer) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// ledger is what callers were told of their writing calls, by id.
type ledger struct {
	mu   sync.Mutex
	told map[string]string
}

const (
	toldDone    = "done"
	toldNotSent = "not-sent"
	toldUnknown = "unknown"
)

func (l *ledger) write(id, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[id] = what
}

// TestChaos drives twelve servers while they are killed, stopped, restarted and
// made to misbehave. What has to hold is said once, at its end.
func TestChaos(t *testing.T) {
	length := chaosTime
	if testing.Short() {
		length = chaosShort
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	files := openFiles(t)

	peers := chaosPeers()
	var toml strings.Builder
	for _, p := range peers {
		p.marks = filepath.Join(t.TempDir(), p.name)
		if p.http {
			if err := p.listen(); err != nil {
				t.Fatal(err)
			}
			defer p.kill()
		}
		toml.WriteString(p.entry())
	}
	opt := options(t, toml.String())
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range h.Problems() {
		t.Error(p)
	}

	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	m := &monkey{host: h, peers: peers, random: rand.New(rand.NewPCG(seed, 0)), seen: map[int]bool{}}
	book := &ledger{told: map[string]string{}}
	var tally tally
	var wg sync.WaitGroup
	for i := range chaosCallers {
		wg.Go(func() { drive(ctx, t, h, peers, rand.New(rand.NewPCG(seed, uint64(i)+1)), book, &tally, i) })
	}
	m.run(ctx)
	wg.Wait()
	m.look() // the last processes, before they are ended
	if err := h.Close(); err != nil {
		t.Error("close:", err)
	}
	for pid := range m.seen {
		waitGone(t, pid)
	}
	for _, p := range peers {
		p.kill()
	}
	checkBook(t, peers, book)
	t.Logf("%d calls went well, %d failed, %d of unknown outcome; the monkey did %v", tally.fine.Load(), tally.failed.Load(), tally.unknown.Load(), m.did)
	if tally.fine.Load() < tally.failed.Load() {
		t.Error("more calls failed than went well: the servers did not come back")
	}
	for _, p := range peers {
		if n := tally.of(p.name).Load(); n < 3 {
			t.Errorf("%s answered %d calls", p.name, n)
		}
	}
	if now := openFiles(t); now > files {
		t.Errorf("%d open files, %d before", now, files)
	}
}

type tally struct {
	fine, failed, unknown atomic.Int64
	each                  sync.Map // server -> *atomic.Int64, answers
}

func (t *tally) of(server string) *atomic.Int64 {
	n, _ := t.each.LoadOrStore(server, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// drive makes calls until ctx ends, and keeps the book of those that write.
func drive(ctx context.Context, t *testing.T, h *host.Host, peers []*peer, random *rand.Rand, book *ledger, tally *tally, caller int) {
	for i := 0; ctx.Err() == nil; i++ {
		p := peers[random.IntN(len(peers))]
		req, id := request(p, random, fmt.Sprintf("%d-%d", caller, i))
		if id != "" {
			book.write(id, toldUnknown)
		}
		// Not bounded by ctx: at its end each call still has its full time.
		callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chaosDeadline)
		begun := time.Now()
		res, err := h.Call(callCtx, req)
		cancel()
		if took := time.Since(begun); took > chaosDeadline+chaosSlack {
			t.Errorf("%s: ended %s after it began, with a deadline of %s (%v)", req.Tool, took, chaosDeadline, err)
		}
		if err == nil {
			tally.fine.Add(1)
			tally.of(p.name).Add(1)
			if id != "" {
				book.write(id, toldDone)
				if !strings.Contains(string(res.JSON), `"`+id+`"`) {
					t.Errorf("%s: the answer to %s is %s", req.Tool, id, res.JSON)
				}
			}
			continue
		}
		tally.failed.Add(1)
		var f *host.Failure
		switch {
		case !errors.As(err, &f):
			t.Errorf("%s: %T is no failure: %v", req.Tool, err, err)
		case f.Message == "" || f.Server != p.name:
			t.Errorf("%s: a failure without a message or server: %#v", req.Tool, f)
		case f.Class == failure.Unknown || f.Class == failure.InvalidArguments || f.Class == failure.InvalidResult:
			t.Errorf("%s: nothing of the kind was done to it, but: %v %v", req.Tool, f.Class, err)
		case f.Delivery == failure.NotSent:
			if id != "" {
				book.write(id, toldNotSent)
			}
		case f.Delivery == failure.DeliveryUnknown:
			tally.unknown.Add(1)
		}
	}
}

// request is a call to make; id is not empty when it writes.
func request(p *peer, random *rand.Rand, mark string) (host.Request, string) {
	req := host.Request{Caller: host.Program}
	switch n := random.IntN(10); {
	case n < 6:
		req.Tool = p.name + "/s_mark"
		req.Arguments = json.RawMessage(fmt.Sprintf(`{"id":"%s","ms":%d}`, mark, random.IntN(50)))
		return req, mark
	case n == 6:
		req.Tool, req.Arguments = p.name+"/t_progress", json.RawMessage(`{"ms":300,"step":50}`)
	case n == 7:
		req.Tool, req.Arguments = p.name+"/c_big", json.RawMessage(`{"size":300000}`)
	default:
		req.Tool, req.Arguments = p.name+"/echo", json.RawMessage(`{"text":"x"}`)
	}
	return req, ""
}

// checkBook compares what callers were told with what the servers did: no
// writing call ran twice, none ran that was said not to have been sent, and all
// ran that were said to have.
func checkBook(t *testing.T, peers []*peer, book *ledger) {
	ran := map[string]int{}
	for _, p := range peers {
		text, err := os.ReadFile(p.marks)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for id := range strings.FieldsSeq(string(text)) {
			ran[id]++
		}
	}
	if len(ran) < 50 {
		t.Errorf("only %d writing calls ran: the test shows nothing", len(ran))
	}
	for id, n := range ran {
		if n > 1 {
			t.Errorf("%s ran %d times", id, n)
		}
		if _, known := book.told[id]; !known {
			t.Errorf("%s ran, and nobody asked for it", id)
		}
	}
	for id, what := range book.told {
		switch {
		case what == toldDone && ran[id] == 0:
			t.Errorf("%s did not run, but was answered", id)
		case what == toldNotSent && ran[id] > 0:
			t.Errorf("%s ran, but was said not to have been sent", id)
		}
	}
}

// openFiles counts this process's open files; 0 where that cannot be told.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(slices.Clip(entries))
}
