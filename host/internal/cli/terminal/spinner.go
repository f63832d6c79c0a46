package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Spinner shows on Err that something is going on, and for how long. A nil
// Spinner is silent.
type Spinner struct {
	label string
	begin time.Time
	w     io.Writer
	done  chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	status string
	paused int  // by so many
	shown  bool // there is something to wipe
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
	if !s.ErrTerminal || s.dumb {
		return nil
	}
	p := &Spinner{label: Escape(Line(label)), begin: time.Now(), w: s.Err, done: make(chan struct{})}
	p.ended.Go(func() { p.run(max(cmp.Or(s.Width, 40), 2)) })
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

// barWidth is how many steps a bar has.
const barWidth = 20

// Bar shows how much of something is done, of 1, for Status. A stranger's number may be
// anything.
func Bar(part float64) string {
	if !(part > 0) { // NaN is none
		part = 0
	}
	part = min(part, 1)
	full := int(part * barWidth)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), int(100*part))
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

// clear wipes the line.
const clear = "\r\x1b[K"

func (p *Spinner) run(width int) {
	select {
	case <-p.done:
		return
	case <-time.After(spinnerDelay):
	}
	tick := time.NewTicker(spinnerStep)
	defer tick.Stop()
	for n := 0; ; n++ {
		p.show(n, width)
		select {
		case <-p.done:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.wipe()
			return
		case <-tick.C:
		}
	}
}

func (p *Spinner) show(n, width int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused > 0 {
		return
	}
	p.shown = true
	line := fmt.Sprintf("%c %s %s %s", `|/-\`[n%4], p.label, time.Since(p.begin).Truncate(time.Second), p.status)
	fmt.Fprint(p.w, clear, Cut(line, width-1))
}

// wipe leaves nothing behind. p.mu is held.
func (p *Spinner) wipe() {
	if p.shown {
		fmt.Fprint(p.w, clear)
	}
	p.shown = false
}

// Pause wipes the spinner and writes nothing more until resume is called.
func (p *Spinner) Pause() (resume func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused++
	p.wipe()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paused--
	}
}
