package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, line := range all {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	return all
}

var at = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.FixedZone("x", 3600))

func TestLines(t *testing.T) {
	long := strings.Repeat("n", 1000)
	for _, c := range []struct {
		r         Record
		arguments bool
		want      string
	}{
		{Record{Time: at, Kind: Call, ID: "i", Parent: "p", Caller: "model", Principal: "token:ci", Method: "tools/call", Server: "s", Tool: "t",
			Outcome: OK, Attempts: 1, Duration: 1234567 * time.Nanosecond, ArgumentBytes: 2, ResultBytes: 30, Arguments: json.RawMessage(`{}`), Trace: "ab"}, false,
			`{"time":"2026-01-02T02:04:05.678901234Z","event":"call","id":"i","parent":"p","caller":"model","principal":"token:ci","method":"tools/call","server":"s","tool":"t","outcome":"ok","attempts":1,"duration_ms":1.234,"argument_bytes":2,"result_bytes":30,"trace":"ab"}`},
		{Record{Time: at, Kind: Request, Method: "resources/read", Server: "s", Outcome: Failed, Class: "timeout", Delivery: "unknown"}, false,
			`{"time":"2026-01-02T02:04:05.678901234Z","event":"request","method":"resources/read","server":"s","outcome":"failed","class":"timeout","delivery":"unknown","attempts":0,"duration_ms":0,"argument_bytes":0,"result_bytes":0}`},
		{Record{Time: at, Kind: Denial, Method: "POST", Outcome: Denied, Reason: "no_token", Status: 401, Path: "/mcp", From: "1.2.3.4:5"}, true,
			`{"time":"2026-01-02T02:04:05.678901234Z","event":"denial","method":"POST","outcome":"denied","reason":"no_token","status":401,"path":"/mcp","from":"1.2.3.4:5"}`},
		// Arguments are on one line, and their numbers as they were.
		{Record{Time: at, Kind: Call, Tool: long + "\n", Arguments: json.RawMessage("{\n \"a\" : 1.0,\r\n \"b\": \"<\\n>\" }")}, true,
			`{"time":"2026-01-02T02:04:05.678901234Z","event":"call","tool":"` + long[:256] + `...","attempts":0,"duration_ms":0,"argument_bytes":0,"result_bytes":0,"arguments":{"a":1.0,"b":"<\n>"}}`},
		{Record{Time: at, Kind: Call, Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", maxArguments) + `"}`)}, true,
			`{"time":"2026-01-02T02:04:05.678901234Z","event":"call","attempts":0,"duration_ms":0,"argument_bytes":0,"result_bytes":0,"arguments_left_out":true}`},
		{Record{Time: at, Kind: Call, Arguments: json.RawMessage(`{"a":`)}, true,
			`{"time":"2026-01-02T02:04:05.678901234Z","event":"call","attempts":0,"duration_ms":0,"argument_bytes":0,"result_bytes":0,"arguments_left_out":true}`},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		l := New(Options{Path: path, Arguments: c.arguments})
		l.Write(&c.r)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := lines(t, path); len(got) != 1 || got[0] != c.want {
			t.Errorf("got  %.600s\nwant %.600s", got, c.want)
		}
	}
}

func TestFileIsMadeWithTheFirstRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "a.jsonl")
	l := New(Options{Path: path})
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("something was made before there was anything to write")
	}
	l.Write(&Record{Kind: Call})
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l.Write(&Record{Kind: Call})
	if n := len(lines(t, path)); n != 1 || l.Lost() != 1 {
		t.Errorf("%d lines, %d lost after the end", n, l.Lost())
	}
}

// Several processes, each with a log of its own, write whole lines.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	const each = 200
	var wg sync.WaitGroup
	for i := range 4 {
		l := New(Options{Path: path})
		for j := range 4 {
			wg.Go(func() {
				for k := range each {
					l.Write(&Record{Kind: Call, ID: fmt.Sprint(i, j, k)})
				}
			})
		}
		defer l.Close()
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, line := range lines(t, path) {
		seen[line] = true
	}
	if len(seen) != 16*each {
		t.Errorf("%d different lines, want %d", len(seen), 16*each)
	}
}

// A file that cannot be written is said once, tried again, and the first line that
// can be written says what is missing.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		path := filepath.Join(dir, "a.jsonl")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		l := New(Options{Path: path, Log: slog.New(slog.NewTextHandler(&said, nil))})
		for range 3 {
			l.Write(&Record{Kind: Call})
		}
		if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "is no regular file") || l.Lost() != 3 {
			t.Errorf("%d lost; said %s", l.Lost(), said.String())
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		l.Write(&Record{Kind: Call})
		if _, err := os.Stat(path); err == nil {
			t.Error("the file was tried again at once")
		}
		time.Sleep(openAgain)
		l.Write(&Record{Kind: Call})
		l.Write(&Record{Kind: Call})
		got := lines(t, path)
		if len(got) != 2 || !strings.HasSuffix(got[0], `,"lost":4}`) || strings.Contains(got[1], "lost") {
			t.Errorf("%q", got)
		}
		if strings.Count(said.String(), "\n") != 2 {
			t.Errorf("said %s", said.String())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Denials do not push out what matters.
func TestManyDenials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Path: path})
		for range 1000 {
			l.Write(&Record{Kind: Denial, Reason: "no_token"})
		}
		l.Write(&Record{Kind: Call})
		time.Sleep(denialPace)
		l.Write(&Record{Kind: Denial, Reason: "no_token"})
		got := lines(t, path)
		if len(got) != denialsBurst+2 || strings.Contains(got[denialsBurst], "left_out") || !strings.HasSuffix(got[denialsBurst+1], `,"left_out":990}`) {
			t.Errorf("%d lines: %q", len(got), got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
