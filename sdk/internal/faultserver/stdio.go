package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf16"
)

// serve reads messages until the input ends.
func (s *server) serve(in io.Reader) {
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		l, err := r.ReadString('\n')
		if l = strings.TrimRight(l, "\r\n"); l != "" {
			s.log("in", l)
			m := message{line: l, to: stdout{s}, modern: s.modern.Load()}
			if jsonErr := json.Unmarshal([]byte(l), &m); jsonErr != nil {
				s.send(m, answer{id: "null", fault: rpcError(-32700, "Parse error")})
			} else {
				s.receive(m)
			}
		}
		if err != nil {
			return
		}
	}
}

// stdout is the one sink of stdio.
type stdout struct{ s *server }

// write writes one message, at most one stream fault applied.
func (o stdout) write(text string, final bool) bool {
	s := o.s
	s.out.Lock()
	defer s.out.Unlock()
	if s.faults["bom"] && !s.wrote {
		raw("\xef\xbb\xbf")
	}
	s.wrote = true
	for _, f := range streams {
		if s.faults[f.name] {
			f.write(text)
			return true
		}
	}
	raw(text + "\n")
	return true
}

func raw(b string) { os.Stdout.WriteString(b) }

// stream is a fault of the byte stream: it writes one message.
type stream struct {
	name  string
	write func(text string)
}

var streams = []stream{
	{"midlog", func(t string) { raw("2026-11-30 INFO \x1b[32mworking\x1b[0m\n" + t + "\n") }},
	{"leading", func(t string) { raw("\x1b[2K> {busy} " + t + "\n") }},
	{"ansi", func(t string) { raw("\x1b[?25l\x1b[2K\r" + t + "\x1b[0m\n") }},
	{"nul", func(t string) { raw("\x00\x00\x00\x00\n" + t + "\n") }},
	{"badutf8", func(t string) { raw("\xff\xfe\xfd\n" + t + "\n") }},
	{"splitutf8", func(t string) {
		cut := strings.IndexFunc(t, func(r rune) bool { return r > 0x7f }) + 1
		raw(t[:cut])
		time.Sleep(20 * time.Millisecond)
		raw(t[cut:] + "\n")
	}},
	{"dribble", func(t string) {
		for _, b := range []byte(t + "\n") {
			os.Stdout.Write([]byte{b})
		}
	}},
	{"crlf", func(t string) { raw(t + "\r\n") }},
	{"blank", func(t string) { raw("\n  \n" + t + "\n\n") }},
	{"pretty", func(t string) { raw(indented(t) + "\n") }},
	{"twodocs", func(t string) {
		raw(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"first"}}` + t + "\n")
	}},
	{"utf16", func(t string) {
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(t + "\n")) {
			b = append(b, byte(u), byte(u>>8))
		}
		os.Stdout.Write(b)
	}},
	{"contentlength", func(t string) { raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(t), t)) }},
}

// indented is a message over several lines.
func indented(text string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		return text
	}
	return b.String()
}
