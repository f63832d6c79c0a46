package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/child"
)

// sent is one event and when it went out.
type sent struct {
	at       time.Duration
	progress *adapterpb.Progress
	record   *adapterpb.LogRecord
}

func recorder() (*Call, *[]sent) {
	var all []sent
	start := time.Now()
	return &Call{events: &emitter{send: func(p *adapterpb.Progress, l *adapterpb.LogRecord) error {
		all = append(all, sent{time.Since(start), p, l})
		return errors.New("ignored")
	}}}, &all
}

func TestProgressIsSpacedAndOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := recorder()
		for i := range 1000 { // 1 s, one each millisecond
			c.Progress(float64(i), 1000, "")
			time.Sleep(time.Millisecond)
		}
		c.Progress(5000, 1000, "last")
		c.events.finish()
		c.Progress(6000, 1000, "too late")
		c.Log(slog.LevelInfo, "", nil)
		time.Sleep(time.Minute)

		if n := len(*all) - progressBurst; n < 9 || n > 12 {
			t.Errorf("%d events in a second after the first ones, want about 10", n)
		}
		for i, s := range (*all)[:progressBurst] {
			if s.at != time.Duration(i)*time.Millisecond {
				t.Errorf("event %d went out after %v", i, s.at)
			}
		}
		spaced := (*all)[progressBurst:]
		for i, s := range spaced[1:] {
			before := spaced[i]
			if s.progress.Done < before.progress.Done {
				t.Errorf("progress fell from %v to %v", before.progress.Done, s.progress.Done)
			}
			// The newest may go out at once when the call is over.
			if s.at-before.at < progressInterval && s.progress.Message != "last" {
				t.Errorf("%v after the one before", s.at-before.at)
			}
		}
		if last := (*all)[len(*all)-1].progress; last.Message != "last" || last.Done != 5000 {
			t.Errorf("last event %v", last)
		}
	})
}

// A single late word goes out by itself, without another call.
func TestPendingProgressGoesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := recorder()
		for range progressBurst {
			c.Progress(1, 0, "a")
		}
		c.Progress(1, 0, "a")
		*all = nil
		c.Progress(2, 0, "b")
		c.Progress(1, 0, "c")
		time.Sleep(progressInterval)
		synctest.Wait()
		if len(*all) != 1 || (*all)[0].progress.Message != "c" || (*all)[0].progress.Done != 2 {
			t.Errorf("events %v, want c, not below b", *all)
		}
		c.events.finish()
	})
}

func TestProgressFromManyGoroutines(t *testing.T) {
	c, all := recorder()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 200 {
				c.Progress(float64(i*j), 0, "")
				c.Log(slog.LevelDebug, "l", json.RawMessage("1"))
			}
		})
	}
	wg.Wait()
	c.events.finish()
	records := 0
	for _, s := range *all {
		if s.record != nil {
			records++
		}
	}
	if records != 16*200 {
		t.Errorf("%d records", records)
	}
}

func TestOddProgress(t *testing.T) {
	c, all := recorder()
	c.Progress(math.NaN(), 1, "")
	c.Progress(math.Inf(1), 1, "")
	c.Progress(-3, math.NaN(), "bad \xff")
	c.events.finish()
	if len(*all) != 1 || (*all)[0].progress.Done != 0 || (*all)[0].progress.Total != 0 || (*all)[0].progress.Message != "bad \uFFFD" {
		t.Errorf("events %v", *all)
	}
	(&Call{}).Progress(1, 1, "") // as an author's test makes it
	(&Call{}).Log(slog.LevelInfo, "", nil)
	(&Request{}).Progress(1, 1, "")
	(&Request{}).Log(slog.LevelInfo, "", nil)
}

func TestLoggerWritesHclogJSON(t *testing.T) {
	var buf bytes.Buffer
	log := child.NewLogger(&buf, "x")
	log.Debug("a <b>", "level", "mine", "time", 5, slog.Group("g", slog.String("msg", "inner")))
	log.Log(t.Context(), slog.LevelError+4, "worse")
	var record map[string]any
	line, rest, _ := strings.Cut(buf.String(), "\n")
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		t.Fatal(err)
	}
	if record["@message"] != "a <b>" || record["@level"] != "debug" || record["@module"] != "x" ||
		record["level"] != "mine" || record["time"] != 5.0 || record["g"].(map[string]any)["msg"] != "inner" {
		t.Errorf("record %s", line)
	}
	if _, err := time.Parse(time.RFC3339Nano, record["@timestamp"].(string)); err != nil {
		t.Error(err)
	}
	if !strings.Contains(rest, `"@level":"error"`) {
		t.Errorf("record %s", rest)
	}
}

// A call that an author made in a test, or whose host offers nothing, has nobody
// to ask, and says so.
func TestAskNobody(t *testing.T) {
	for name, call := range map[string]*Call{"made by hand": {}, "no host": {env: &Env{}}} {
		_, err := call.Ask(t.Context(), "elicitation/create", nil)
		if f, ok := err.(*failure.Failure); !ok || f.Class != failure.ConsentRequired || f.Delivery != failure.NotSent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&Request{}).Ask(t.Context(), "roots/list", nil); err == nil {
		t.Error("a request that nobody made was answered")
	}
}
