package plugins

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
)

// Copies of the test binary are the plugins: run as "BINARY describe", they note
// that they ran and print a description.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "describe" {
		f, err := os.OpenFile(os.Getenv("DESCRIBE_RUNS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, "this plugin is broken:", err)
			os.Exit(3)
		}
		fmt.Fprint(f, ".")
		f.Close()
		fmt.Print(`{"name":"test","version":"1.2.3","configSchema":{"b":9007199254740993,"a":1},"environment":["A","B"],"defaultTimeout":"1m0s"}`)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type fixture struct {
	binary, cache, runs string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	dir := t.TempDir()
	f := fixture{filepath.Join(dir, Prefix+"test"+suffix), filepath.Join(dir, "cache"), filepath.Join(dir, "runs")}
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(f.binary, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	f.age(t, time.Hour)
	return f
}

// age sets the binary's last change into the past.
func (f fixture) age(t *testing.T, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(f.binary, at, at); err != nil {
		t.Fatal(err)
	}
}

// env is the environment of the plugin; a race-enabled binary would sleep a second
// before it exits.
func (f fixture) env() []string {
	return append(os.Environ(), "DESCRIBE_RUNS="+f.runs, "GORACE=atexit_sleep_ms=0")
}

// describe asks as a new host would.
func (f fixture) describe(t *testing.T) {
	t.Helper()
	d := &Describer{CacheDir: f.cache}
	got, err := d.Describe(t.Context(), f.binary, f.env())
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "test" || got.Version != "1.2.3" || got.DefaultTimeout != time.Minute || len(got.Environment) != 2 ||
		string(got.ConfigSchema) != `{"b":9007199254740993,"a":1}` {
		t.Fatalf("described as %+v", got)
	}
}

func (f fixture) expectRuns(t *testing.T, want int, why string) {
	t.Helper()
	runs, err := os.ReadFile(f.runs)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != want {
		t.Fatalf("%s: the plugin ran %d times; want %d", why, len(runs), want)
	}
}

func TestDescribeRunsABinaryOnce(t *testing.T) {
	f := newFixture(t)
	f.describe(t)
	f.describe(t)
	f.expectRuns(t, 1, "cached")
	f.age(t, 2*time.Hour)
	f.describe(t)
	f.expectRuns(t, 1, "the same bytes with another time")

	file, err := os.OpenFile(f.binary, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("another version"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	f.describe(t)
	f.expectRuns(t, 2, "other bytes")
}

// A file changed in place within one tick of the clock has the same size, time and
// inode: the hash of such a file is not remembered.
func TestDescribeDoesNotTrustTheTimeOfAFreshFile(t *testing.T) {
	f := newFixture(t)
	f.age(t, 0)
	before, err := os.Stat(f.binary)
	if err != nil {
		t.Fatal(err)
	}
	f.describe(t)
	file, err := os.OpenFile(f.binary, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("!"), before.Size()-1); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := os.Chtimes(f.binary, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	f.describe(t)
	f.expectRuns(t, 2, "changed behind an unchanged time")
}

func TestDamagedCacheIsAMiss(t *testing.T) {
	for what, damage := range map[string]string{"empty": "", "cut off": `{"name":"te`, "not JSON": "\x00\x01", "another shape": `[]`, "no description": `{}`} {
		f := newFixture(t)
		f.describe(t)
		files, err := filepath.Glob(filepath.Join(f.cache, "describe", "*"))
		if err != nil || len(files) != 2 {
			t.Fatalf("the cache holds %v, %v", files, err)
		}
		for _, file := range files {
			if err := os.WriteFile(file, []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f.describe(t)
		f.expectRuns(t, 2, what)
		f.describe(t)
		f.expectRuns(t, 2, what+", written anew")
	}
}

func TestCacheThatCannotBeWrittenCostsOnlyTime(t *testing.T) {
	f := newFixture(t)
	if err := os.WriteFile(f.cache, nil, 0o600); err != nil { // a file where the directory would be
		t.Fatal(err)
	}
	f.describe(t)
	f.describe(t)
	f.expectRuns(t, 2, "no cache")
	f.cache = ""
	f.describe(t)
	f.expectRuns(t, 3, "none wanted")
}

func TestDescribeOfManyServersRunsOnce(t *testing.T) {
	f := newFixture(t)
	d := &Describer{CacheDir: f.cache}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := d.Describe(t.Context(), f.binary, f.env()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.expectRuns(t, 1, "at once")
}

func TestDescribeFailures(t *testing.T) {
	f := newFixture(t)
	d := &Describer{CacheDir: f.cache}
	_, err := d.Describe(t.Context(), f.binary, append(os.Environ(), "DESCRIBE_RUNS="+filepath.Join(f.binary, "no directory")))
	fail, ok := errors.AsType[*failure.Failure](err)
	if !ok || fail.Class != failure.ConnectionRefused || !strings.Contains(fail.Message, "this plugin is broken") {
		t.Errorf("a plugin that fails: %v", err)
	}
	f.describe(t) // a failure is not kept
	f.expectRuns(t, 1, "after a failure")

	_, err = d.Describe(t.Context(), f.binary+"-not-there", nil)
	fail, ok = errors.AsType[*failure.Failure](err)
	if !ok || fail.Class != failure.ConnectionRefused || fail.Delivery != failure.NotSent || !strings.Contains(fail.Message, "not-there") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A binary that is replaced while it is described: what was printed may belong to
// either, so it is kept for neither.
func TestReplacedMeanwhileIsNotKept(t *testing.T) {
	f := newFixture(t)
	d := &Describer{CacheDir: f.cache, Run: func(context.Context, string, []string) (*describe.Description, error) {
		f.age(t, 3*time.Hour)
		return &describe.Description{Name: "other"}, nil
	}}
	if got, err := d.Describe(t.Context(), f.binary, nil); err != nil || got.Name != "other" {
		t.Fatalf("%+v, %v", got, err)
	}
	f.describe(t)
	f.expectRuns(t, 1, "kept for the wrong file")
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := &Describer{Run: func(context.Context, string, []string) (*describe.Description, error) {
			<-release
			return &describe.Description{Name: "slow"}, nil
		}}
		var wg sync.WaitGroup
		wg.Go(func() {
			if got, err := d.Describe(t.Context(), "x", nil); err != nil || got.Name != "slow" {
				t.Errorf("%+v, %v", got, err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := d.Describe(ctx, "x", nil)
		if fail, ok := errors.AsType[*failure.Failure](err); !ok || fail.Class != failure.Canceled || fail.Delivery != failure.NotSent {
			t.Errorf("waiting was ended with %v", err)
		}
		close(release)
		wg.Wait()
	})
}

// Sum is that of the file as it is now, and runs nothing.
func TestSum(t *testing.T) {
	f := newFixture(t)
	data, err := os.ReadFile(f.binary)
	if err != nil {
		t.Fatal(err)
	}
	shared := &Describer{CacheDir: f.cache}
	check := func(when string) {
		t.Helper()
		want := fmt.Sprintf("%x", sha256.Sum256(data))
		for _, d := range []*Describer{shared, {CacheDir: f.cache}, {}} {
			if got, err := d.Sum(f.binary); err != nil || got != want {
				t.Errorf("%s: %s, %v; want %s", when, got, err, want)
			}
		}
	}
	check("at first")
	check("cached")
	if _, err := shared.Describe(t.Context(), f.binary, f.env()); err != nil {
		t.Fatal(err)
	}
	check("described")
	data = append(data, '\n')
	if err := os.WriteFile(f.binary, data, 0o700); err != nil {
		t.Fatal(err)
	}
	check("changed")
	f.expectRuns(t, 1, "a sum")
	if _, err := shared.Sum(f.binary + ".none"); err == nil {
		t.Error("a file that is not there has a sum")
	}
}
