package hub

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneStartAtATimeForAURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			turns turns
			wg    sync.WaitGroup
			begun = time.Now()
		)
		take := func(url string, want time.Duration) {
			wg.Go(func() {
				done, err := turns.take(t.Context(), url)
				if err != nil {
					t.Error(err)
					return
				}
				if took := time.Since(begun); took != want {
					t.Errorf("%s after %v, want %v", url, took, want)
				}
				time.Sleep(time.Second)
				done()
			})
			synctest.Wait()
		}
		take("https://a.example/mcp", 0)
		take("HTTPS://A.example/mcp/?x=1", time.Second)
		take("https://a.example/mcp", 2*time.Second)
		take("https://a.example/other", 0)
		take("https://a.example:444/mcp", 0)
		take("%zz", 0)
		wg.Wait()
		if len(turns.at) != 0 {
			t.Errorf("%d places are left", len(turns.at))
		}
	})
}

func TestATurnIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		done, err := turns.take(t.Context(), "https://a.example")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.take(ctx, "https://a.example"); err == nil {
			t.Error("two at once")
		}
		done()
		if len(turns.at) != 0 {
			t.Errorf("%d places are left", len(turns.at))
		}
		if _, err := turns.take(t.Context(), "https://a.example"); err != nil {
			t.Error(err)
		}
	})
}
