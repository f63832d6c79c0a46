package mcp

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/codemode"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// tallyPause is the least time between two progress reports of a script: it may make
// a thousand calls in a second, and nobody reads faster than this.
const tallyPause = 100 * time.Millisecond

// tally tells a client how far its script is: "3 calls made, 2 in flight". Progress
// counts what has happened, because it has to grow with each report (2025-11-25,
// basic/utilities/progress); there is no total.
type tally struct {
	send func(params json.RawMessage)

	mu       sync.Mutex
	happened int
	calls    string // how the calls stand
	said     string // what a call last said of itself
	timer    *time.Timer
	resting  bool // a report was sent less than tallyPause ago
	news     bool // something has happened since
	stopped  bool
}

func newTally(send func(params json.RawMessage)) *tally { return &tally{send: send} }

// called is told of each call that begins or ends.
func (t *tally) called(e codemode.CallEvent) {
	plural := "s"
	if e.Made == 1 {
		plural = ""
	}
	t.happen(func() {
		t.calls, t.said = fmt.Sprintf("%d call%s made, %d in flight", e.Made, plural, e.InFlight), ""
	})
}

// progressed is told what a call says of itself.
func (t *tally) progressed(tool string, p call.Progress) {
	said := fmt.Sprintf("; %s: %v", tool, p.Done)
	if p.Total > 0 {
		said += fmt.Sprintf(" of %v", p.Total)
	}
	if p.Message != "" {
		said += ", " + p.Message
	}
	t.happen(func() { t.said = said })
}

func (t *tally) happen(note func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.happened++
	note()
	t.news = true
	if !t.resting {
		t.report()
	}
}

// report sends how things are, and rests. t.mu is held.
func (t *tally) report() {
	if t.stopped {
		return
	}
	t.news, t.resting = false, true
	params := fmt.Appendf(nil, `{"progress":%d,"message":`, t.happened)
	t.send(append(rawjson.AppendString(params, t.calls+t.said), '}'))
	t.timer = time.AfterFunc(tallyPause, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.resting = false
		if t.news {
			t.report()
		}
	})
}

// stop sends nothing more.
func (t *tally) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}
