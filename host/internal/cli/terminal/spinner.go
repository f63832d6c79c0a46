package terminal

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Spinner shows on Err that something is going on, and for how long. A nil
// Spinner is silent.
type Spinner struct {
	label string
	begin time.Time
	done  chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	status string
}

const (
	// spinnerDelay keeps quick answers free of flicker.
	spinnerDelay = 400 * time.Millisecond
	// spinnerStep is as often as an eye wants to see the seconds move.
	spinnerStep = 120 * time.Millisecond
)

// Spin starts a spinner, or returns nil when nobody looks at Err. Whoever starts
// it calls Stop before writing anything else.
func (s *Streams) Spin(label string) *Spinner {
	if !s.ErrTerminal {
		return nil
	}
	p := &Spinner{label: Escape(Line(label)), begin: time.Now(), done: make(chan struct{})}
	p.ended.Go(func() { p.run(s.Err, max(s.Width, 40)) })
	return p
}

// Status shows text behind the elapsed time.
func (p *Spinner) Status(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = Escape(Line(text))
}

// Stop wipes the spinner and returns once nothing is written any more. It may be
// called more than once.
func (p *Spinner) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	p.mu.Unlock()
	p.ended.Wait()
}

func (p *Spinner) run(w io.Writer, width int) {
	const clear = "\r\x1b[K"
	select {
	case <-p.done:
		return
	case <-time.After(spinnerDelay):
	}
	tick := time.NewTicker(spinnerStep)
	defer tick.Stop()
	for n := 0; ; n++ {
		p.mu.Lock()
		status := p.status
		p.mu.Unlock()
		line := fmt.Sprintf("%c %s %s %s", `|/-\`[n%4], p.label, time.Since(p.begin).Truncate(time.Second), status)
		fmt.Fprint(w, clear, Cut(line, width-1))
		select {
		case <-p.done:
			fmt.Fprint(w, clear)
			return
		case <-tick.C:
		}
	}
}
