package terminal

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä 日本 🤖":                   "plain ä 日本 🤖",
		"tab\tand\nline\r\n":             "tab\tand\nline\r\n",
		"over\rwrite":                    `over\rwrite`,
		"\x1b[2J\x1b]52;c;eA==\x07":      `\x1b[2J\x1b]52;c;eA==\x07`,
		"\x00\x7f":                       `\x00\x7f`,
		"\u009b31m":                      `\u009b31m`,
		"abc\u202edef\u2066\u200f\u061c": `abc\u202edef\u2066\u200f\u061c`,
		"bad \xc3\x28 \x9b":              `bad \xc3( \x9b`,
		"\uFFFD stays":                   "\uFFFD stays",
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestEscaperHoldsTornCharactersTogether(t *testing.T) {
	const text = "日本\u202e🤖é\x1b"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := Escaper(&out)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		if out.String() != Escape(text) {
			t.Errorf("in pieces of %d: %q", size, out.String())
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\": \"\\u001b ä 日本\",\n\t\"b\":1}": "{\"a\": \"\\u001b ä 日本\",\n\t\"b\":1}",
		"\"\u202e\u009b\x7f\xff\"":              `"\u202e\u009b\u007f\ufffd"`,
	} {
		if got := EscapeJSON(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b[31m\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range strings.ReplaceAll(Escape(s), "\r\n", "\n") {
			if harmful(r, 2) {
				t.Errorf("%q lets %U through", s, r)
			}
		}
	})
}

func TestTable(t *testing.T) {
	rows := [][]string{{"a", "日本", "a long\ndescription"}, {"bcd\x1b", "x", ""}}
	var out bytes.Buffer
	s := &Streams{Out: &out}
	if err := s.Table([]string{"H", "I", "J"}, rows); err != nil {
		t.Fatal(err)
	}
	if want := "H     I     J\na     日本  a long description\nbcd\x1b  x\n"; out.String() != want {
		t.Errorf("to a pipe:\n%q want\n%q", out.String(), want)
	}
	out.Reset()
	s.OutTerminal, s.Width, s.Color = true, 25, true
	if err := s.Table([]string{"H", "I", "J"}, rows); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1mH        I     J\x1b[0m\na        日本  a long de…\n" + `bcd\x1b  x` + "\n"; out.String() != want {
		t.Errorf("to a terminal:\n%q want\n%q", out.String(), want)
	}
}

func TestWrappedTable(t *testing.T) {
	rows := [][]string{{"a", "one two three 日本日本 muchlongerthanall x"}, {"bcd", ""}}
	var out bytes.Buffer
	s := &Streams{Out: &out, OutTerminal: true, Width: 18}
	if err := s.WrappedTable([]string{"H", "I"}, rows); err != nil {
		t.Fatal(err)
	}
	if want := "H    I\na    one two three\n     日本日本\n     muchlongerthanall\n     x\nbcd\n"; out.String() != want {
		t.Errorf("to a terminal:\n%s want\n%s", out.String(), want)
	}
	out.Reset()
	s.OutTerminal, s.Width = false, 0
	if err := s.WrappedTable([]string{"H", "I"}, rows); err != nil {
		t.Fatal(err)
	}
	if want := "H    I\na    one two three 日本日本 muchlongerthanall x\nbcd\n"; out.String() != want {
		t.Errorf("to a pipe:\n%s want\n%s", out.String(), want)
	}
}

func TestInputTellsOnce(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var told bytes.Buffer
		s := &Streams{In: iotest.OneByteReader(strings.NewReader("abc")), Err: &told, InTerminal: terminal}
		text, err := io.ReadAll(s.Input())
		if string(text) != "abc" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
		if got := strings.Count(told.String(), "Ctrl-D") == 1; got != terminal || !terminal && told.Len() > 0 {
			t.Errorf("terminal %t: told %q", terminal, told.String())
		}
	}
}

func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	p := &pipeWriter{w: w}
	for range 2 {
		if n, err := p.Write([]byte("xy")); n != 2 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if lost := (&Streams{Out: p}).Lost(); lost != nil {
		t.Errorf("a closed pipe lost %v", lost)
	}
	direct := (&Streams{Out: p}).Direct()
	if direct != io.Writer(w) {
		t.Errorf("it is written to through %T", direct)
	}
	if _, err := direct.Write([]byte("x")); !ReaderGone(err) || ReaderGone(nil) {
		t.Errorf("a closed pipe is taken for %v", err)
	}
	other := errors.New("disk full")
	p = &pipeWriter{w: failing{other}}
	if _, err := p.Write(nil); !errors.Is(err, other) {
		t.Errorf("got %v", err)
	}
	if lost := (&Streams{Out: p}).Lost(); lost != other {
		t.Errorf("lost %v", lost)
	}
}

// That nobody reads a pipe any more is seen before anything is written.
func TestUnread(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := &Streams{Out: &pipeWriter{w: w}}
	if s.Unread() {
		t.Error("it is read")
	}
	r.Close()
	if runtime.GOOS == "windows" { // which says so once something is written
		_, _ = s.Out.Write([]byte("x"))
	}
	if !s.Unread() {
		t.Error("nobody reads it")
	}
	if (&Streams{Out: &pipeWriter{w: w}, OutTerminal: true}).Unread() || (&Streams{Out: w}).Unread() {
		t.Error("only a stream of the process that is no terminal can be left")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestSpinnerIsSilentWhereNobodyLooks(t *testing.T) {
	var out bytes.Buffer
	s := &Streams{Err: &out}
	p := s.Spin("x")
	p.Status("y")
	p.Stop()
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}

func TestSpinnerPauses(t *testing.T) {
	(*Spinner)(nil).Pause()()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &Streams{Err: &out, ErrTerminal: true}
		p := s.Spin("x")
		time.Sleep(3 * time.Second)
		synctest.Wait() // for what is written at this very moment
		one, other := p.Pause(), p.Pause()
		if !strings.HasSuffix(out.String(), "\r\x1b[K") {
			t.Errorf("it left %q", out.String())
		}
		out.Reset()
		one()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if out.Len() > 0 {
			t.Errorf("it wrote %q", out.String())
		}
		other()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !strings.Contains(out.String(), "x 8s") {
			t.Errorf("it went on with %q", out.String())
		}
		p.Stop()
	})
}

// A line that is longer than the terminal would go on in the next one, which nothing
// wipes.
func TestSpinnerFitsNarrowTerminals(t *testing.T) {
	for _, width := range []int{1, 2, 20} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			s := &Streams{Err: &out, ErrTerminal: true, Width: width}
			p := s.Spin("looking at the servers of everybody")
			time.Sleep(3 * time.Second)
			p.Stop()
			for _, line := range strings.Split(out.String(), clear) {
				if Columns(line) > max(width-1, 1) {
					t.Errorf("%d columns are too many for %d: %q", Columns(line), width, line)
				}
			}
			if !strings.Contains(out.String(), "|") && width > 2 {
				t.Errorf("nothing is shown: %q", out.String())
			}
		})
	}
}

// Where nothing can be wiped, nothing is shown that has to be.
func TestDumbTerminal(t *testing.T) {
	for term, dumb := range map[string]bool{"dumb": true, "xterm": false, "": false} {
		s := System(func(name string) string { return map[string]string{"TERM": term}[name] })
		s.OutTerminal, s.ErrTerminal = true, true
		p := s.Spin("x")
		p.Stop()
		if (p == nil) != dumb || s.Redraws() == dumb {
			t.Errorf("TERM=%s: a spinner: %v, redraws: %v", term, p != nil, s.Redraws())
		}
	}
	if (&Streams{}).Redraws() {
		t.Error("a file is redrawn")
	}
}

func TestSpinner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &Streams{Err: &out, ErrTerminal: true}
		quick := s.Spin("quick")
		time.Sleep(spinnerDelay / 2)
		quick.Stop()
		if out.Len() > 0 {
			t.Errorf("a quick answer flickers: %q", out.String())
		}
		slow := s.Spin("a\x1b\nb")
		slow.Status("50%")
		time.Sleep(3 * time.Second)
		slow.Stop()
		slow.Stop()
		if text := out.String(); !strings.Contains(text, `a\x1b b 2s 50%`) || !strings.HasSuffix(text, "\r\x1b[K") {
			t.Errorf("got %q", text)
		}
	})
}

func TestBar(t *testing.T) {
	for part, want := range map[float64]string{
		0:           "[....................]   0%",
		0.5:         "[##########..........]  50%",
		0.999:       "[###################.]  99%",
		1:           "[####################] 100%",
		-3:          "[....................]   0%",
		7:           "[####################] 100%",
		math.Inf(1): "[####################] 100%",
		math.NaN():  "[....................]   0%",
	} {
		if got := Bar(part); got != want {
			t.Errorf("%v: %q, want %q", part, got, want)
		}
	}
}

// What a screen shows takes the place of what it showed, and stays within a terminal.
func TestScreen(t *testing.T) {
	var out strings.Builder
	columns, rows := 0, 0
	s := &Streams{Out: &out, OutTerminal: true, size: func() (int, int, error) { return columns, rows, nil }}
	v := s.Screen()
	for _, step := range []struct {
		columns, rows int
		lines, want   string
	}{
		{33, 10, "a b", "\x1b[2Ka\n\x1b[2Kb\n\x1b[J"},
		{33, 10, "c", "\x1b[2A\x1b[2Kc\n\x1b[J"},
		{33, 10, "c", ""},
		{33, 4, "a b c d", "\x1b[1A\x1b[2Ka\n\x1b[2Kb\n\x1b[2K... and 2 more\n\x1b[J"},
		{33, 4, "a b c", "\x1b[3A\x1b[2Ka\n\x1b[2Kb\n\x1b[2Kc\n\x1b[J"},
		{33, 0, "a b c d", "\x1b[3A\x1b[2Ka\n\x1b[2Kb\n\x1b[2Kc\n\x1b[2Kd\n\x1b[J"},
		{33, 2, "a b", "\x1b[4A\x1b[2Ka\n\x1b[J"},
		{8, 9, "12345678 123456789 日本日本 日本日本日", "\x1b[1A\x1b[2K12345678\n\x1b[2K1234567…\n\x1b[2K日本日本\n\x1b[2K日本日…\n\x1b[J"},
		// The terminal has broken each line into three.
		{3, 9, "\x1b[1mabcd\x1b[0m", "\x1b[12A\x1b[2K\x1b[1mab…\x1b[0m\n\x1b[J"},
		{2, 9, "x", "\x1b[2A\x1b[2Kx\n\x1b[J"},
		{40, 9, "\x1b[1mx\x1b[0m", "\x1b[1A\x1b[2K\x1b[1mx\x1b[0m\n\x1b[J"},
	} {
		out.Reset()
		columns, rows = step.columns, step.rows
		if err := v.Show(strings.Fields(step.lines)); err != nil || out.String() != step.want {
			t.Errorf("%q on %d rows of %d: %q, want %q (%v)", step.lines, step.rows, step.columns, out.String(), step.want, err)
		}
		if s.Width != step.columns {
			t.Errorf("the width is %d, not %d", s.Width, step.columns)
		}
	}
}
