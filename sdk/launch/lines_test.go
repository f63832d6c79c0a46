package launch

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, test := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a\nb\r\n\nc", []string{"a", "b", "", "c"}},
		{"\n", []string{""}},
		{long + "\n", []string{long}},
		{long + "yyy\nz\n", []string{long, "z"}},
		{long + long + long, []string{long}},
	} {
		for _, chunk := range []int{1, 7, 32 << 10, 1 << 20} {
			var got []string
			l := &lines{emit: func(b []byte) { got = append(got, string(b)) }}
			for in := []byte(test.in); len(in) > 0; {
				n := min(chunk, len(in))
				l.write(in[:n])
				in = in[n:]
			}
			l.end()
			if !slices.Equal(got, test.want) {
				t.Errorf("%.20q in chunks of %d: %d lines", test.in, chunk, len(got))
			}
		}
	}
}

func TestHandshake(t *testing.T) {
	const good = "1|1|unix|/s|grpc|"
	for _, test := range []struct {
		name, stdout string
		line         string // what go-plugin reads
		refused      bool
		junk         int
	}{
		{"plain", good + "\n", good + "\n", false, 0},
		{"spaces, carriage return", "  " + good + "\r\n", good + "\n", false, 0},
		{"without newline", good, good + "\n", false, 0},
		{"after junk", "npm notice\n\n1|2\n1|x|unix|/s|grpc\n|||||\n" + good + "\n", good + "\n", false, 4},
		{"certificate", "1|1|tcp|127.0.0.1:1|grpc|Zm9v|true\n", "1|1|tcp|127.0.0.1:1|grpc|Zm9v|true\n", false, 0},
		{"then more", good + "\n" + good + "\njunk\n", good + "\n", false, 0},
		{"never", "junk\n", "", false, 1},
		{"nothing", "", "", false, 0},
		{"other version", "1|2|unix|/s|grpc|\n", "", true, 0},
		{"other core", "2|1|unix|/s|grpc|\n", "", true, 0},
		{"net/rpc by default", "1|1|unix|/s\n", "", true, 0},
		{"after a refused one", "1|2|unix|/s|grpc|\n" + good + "\n", "", true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHandshake()
			h.write([]byte(test.stdout))
			h.end()
			line, err := io.ReadAll(h)
			if err != nil || string(line) != test.line {
				t.Errorf("go-plugin reads %q, %v", line, err)
			}
			if (h.refusal() != nil) != test.refused {
				t.Errorf("refused: %v", h.refusal())
			}
			if _, n := h.junkLines(); n != test.junk {
				t.Errorf("%d junk lines, want %d", n, test.junk)
			}
		})
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add([]byte("1|1|unix|/s|grpc|\n"))
	f.Add([]byte("junk\n1|1|tcp|x|grpc\r\n"))
	f.Add([]byte("\xff|\x00\n"))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		h := newHandshake()
		h.write(stdout)
		h.end()
		line, err := io.ReadAll(h)
		if err != nil || bytes.Count(line, []byte("\n")) > 1 {
			t.Errorf("go-plugin reads %q, %v", line, err)
		}
		if len(line) > 0 && h.refusal() != nil {
			t.Error("handed over and refused")
		}
		junk, n := h.junkLines()
		if len(junk) > maxJunkLines || n < len(junk) {
			t.Errorf("%d of %d junk lines", len(junk), n)
		}
		for _, line := range junk {
			if len(line) > maxJunkBytes || !utf8.ValidString(line) {
				t.Errorf("junk %q", line)
			}
		}
	})
}

func TestOutputTail(t *testing.T) {
	o := newOutput(nil)
	for i := range tailLines + 3 {
		o.line(fmt.Append(nil, i))
	}
	tail := o.tail()
	if len(tail) != tailLines || tail[0] != "3" || tail[tailLines-1] != fmt.Sprint(tailLines+2) {
		t.Errorf("%q", tail)
	}
	o.close()
	o.line([]byte("late"))
	if slices.Contains(o.tail(), "late") {
		t.Error("took a line after close")
	}
}

// A callback that is too slow misses lines, hears how many, and delays nobody.
func TestOutputDrops(t *testing.T) {
	block, got := make(chan struct{}), newLog()
	o := newOutput(func(b []byte) { <-block; got.line(b) })
	line := bytes.Repeat([]byte("x"), maxLine)
	const sent = 3 * maxQueued / maxLine
	for range sent {
		o.line(line)
	}
	close(block)
	o.close()
	<-o.idle
	kept, dropped := 0, 0
	for _, line := range got.all() {
		var n int
		if _, err := fmt.Sscanf(line, "[%d lines dropped", &n); err == nil {
			dropped += n
		} else {
			kept++
		}
	}
	if kept+dropped != sent || dropped == 0 {
		t.Errorf("%d kept, %d dropped, %d sent", kept, dropped, sent)
	}
}
