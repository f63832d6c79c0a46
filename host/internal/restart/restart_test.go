package restart

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestPacing(t *testing.T) {
	for name, c := range map[string]struct {
		run  time.Duration // how long it serves each time
		want string        // the pause after each end
	}{
		"at once":       {0, "250ms 500ms 1s 2s 30s 30s"},
		"not steady":    {SteadyRun - 1, "250ms 500ms 1s 2s 30s 30s"},
		"steady":        {SteadyRun, "250ms 250ms 250ms 250ms 30s 30s"},
		"seldom":        {EndsWindow / 4, "250ms 250ms 250ms 250ms 250ms 250ms"},
		"left for long": {EndsWindow, "250ms 250ms 250ms 250ms 250ms 250ms"},
	} {
		var p Pacing
		now := noon
		var got []string
		for range 6 {
			if wait := p.Wait(now); wait != 0 || p.Postponed(now) != "" {
				t.Fatalf("%s: a start would wait for %s", name, wait)
			}
			now = now.Add(c.run)
			p.Served(c.run)
			p.Ended(now)
			wait := p.Wait(now)
			got = append(got, fmt.Sprint(wait))
			if p.Wait(now.Add(wait-1)) != 1 {
				t.Errorf("%s: the pause of %s ends early", name, wait)
			}
			now = now.Add(wait)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

func TestPostponed(t *testing.T) {
	var p Pacing
	p.Ended(noon)
	if got := p.Postponed(noon.Add(100 * time.Millisecond)); got != "not tried again before 12:00:00 (in 150ms)" {
		t.Error(got)
	}
	for i := range ManyEnds {
		p.Ended(noon.Add(time.Duration(i) * time.Second))
	}
	if got := p.Postponed(noon.Add(10 * time.Second)); got != "not tried again before 12:00:34 (in 24s), because it failed 5 times within 4s" {
		t.Error(got)
	}
	if !p.TooMany(noon.Add(EndsWindow-1)) || p.TooMany(noon.Add(EndsWindow)) || p.Ends() != ManyEnds {
		t.Errorf("%+v", p)
	}
}
