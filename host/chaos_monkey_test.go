//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/collet-dev/collet/host"
)

// killsPerServer keeps each server under five crashes in ten minutes, after
// which it is left alone for 30 s at a time and the chaos would test little else.
const killsPerServer = 3

// monkey does to the servers what a bad day does, one thing after another.
type monkey struct {
	host   *host.Host
	peers  []*peer
	random *rand.Rand
	kills  map[string]int
	seen   map[int]bool // every process there was below an adapter, and the adapters
	did    map[string]int
}

func (m *monkey) run(ctx context.Context) {
	m.kills, m.did = map[string]int{}, map[string]int{}
	for ctx.Err() == nil {
		m.look()
		p := m.peers[m.random.IntN(len(m.peers))]
		name, trick := m.pick(p)
		m.did[name]++
		trick(ctx, p)
		m.pause(ctx, 100*time.Millisecond+time.Duration(m.random.IntN(300))*time.Millisecond)
	}
}

// look remembers the processes there are.
func (m *monkey) look() {
	var adapters []int
	for _, s := range m.host.Servers() {
		if s.Pid != 0 {
			adapters = append(adapters, s.Pid)
			m.seen[s.Pid] = true
		}
	}
	for _, pid := range below(adapters) {
		m.seen[pid] = true
	}
}

type trick = func(context.Context, *peer)

func (m *monkey) pick(p *peer) (string, trick) {
	lethal := m.kills[p.name] < killsPerServer
	switch n := m.random.IntN(8); {
	case n == 0 && lethal:
		return "kill the adapter", m.signalAdapter(syscall.SIGKILL)
	case n == 1 && lethal && p.http:
		return "restart over HTTP", m.restart
	case n == 1 && lethal:
		return "kill the upstream", m.killUpstream
	case n == 2 && lethal && !p.http:
		return "exit", m.tell("x_exit", `{"code":7}`)
	case n == 3:
		return "stop the adapter", m.stopFor(m.signalAdapter)
	case n == 4:
		return "stop the upstream", m.stopFor(m.signalUpstream)
	case n == 5:
		return "change the list", m.tell("x_rug", `{}`)
	case n == 6 && !p.http:
		return "print junk", m.tell("w_raw", `{"text":"\u001b[31m{\"jsonrpc\":\n\n[1,2\n"}`)
	default:
		return "many changes", m.tell("x_notify", `{}`)
	}
}

func (m *monkey) adapterOf(p *peer) int {
	for _, s := range m.host.Servers() {
		if s.Name == p.name {
			return s.Pid
		}
	}
	return 0
}

func (m *monkey) signalAdapter(sig syscall.Signal) trick {
	return func(_ context.Context, p *peer) {
		if pid := m.adapterOf(p); pid != 0 {
			if sig == syscall.SIGKILL {
				m.kills[p.name]++
			}
			_ = syscall.Kill(pid, sig) // it may have ended since
		}
	}
}

func (m *monkey) signalUpstream(sig syscall.Signal) trick {
	return func(_ context.Context, p *peer) {
		if p.http {
			p.mu.Lock()
			defer p.mu.Unlock()
			_ = p.cmd.Process.Signal(sig)
			return
		}
		if pid := m.adapterOf(p); pid != 0 {
			for _, child := range below([]int{pid}) {
				_ = syscall.Kill(child, sig)
			}
		}
	}
}

func (m *monkey) killUpstream(ctx context.Context, p *peer) {
	m.kills[p.name]++
	m.signalUpstream(syscall.SIGKILL)(ctx, p)
}

func (m *monkey) restart(ctx context.Context, p *peer) {
	m.kills[p.name]++
	p.kill()
	m.pause(ctx, time.Duration(m.random.IntN(1500))*time.Millisecond)
	for p.listen() != nil { // its port may be taken by an outgoing connection for a moment
		p.kill()
		m.pause(context.Background(), 50*time.Millisecond)
	}
}

func (m *monkey) stopFor(signal func(syscall.Signal) trick) trick {
	return func(ctx context.Context, p *peer) {
		signal(syscall.SIGSTOP)(ctx, p)
		m.pause(ctx, time.Duration(m.random.IntN(3000))*time.Millisecond)
		signal(syscall.SIGCONT)(ctx, p)
	}
}

// tell has the server do something by itself, by calling it.
func (m *monkey) tell(tool, args string) trick {
	return func(ctx context.Context, p *peer) {
		if tool == "x_exit" {
			m.kills[p.name]++
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		// Whatever comes of it.
		_, _ = m.host.Call(ctx, host.Request{Tool: p.name + "/" + tool, Arguments: json.RawMessage(args), Caller: host.Program, Retry: host.RetryNever})
	}
}

// pause is the monkey's rhythm, not a wait for something.
func (m *monkey) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
