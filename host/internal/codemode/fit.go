package codemode

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// bytesPerToken is what a token of JSON and English has, roughly.
	bytesPerToken = 4
	// DefaultTokens and MaxTokens bound what a model gets of a script's output.
	DefaultTokens = 10_000
	MaxTokens     = 50_000
	// maxCallRecords are shown to a model; a script makes up to a thousand calls.
	maxCallRecords = 50
)

// Fit makes an outcome small enough for a model: at most tokens, by four bytes each,
// of output, value and console together; 0 is DefaultTokens. What is too long keeps
// its beginning and its end by whole lines. All of it is handed to keep first, as
// text, which returns a name for it; keep may be nil.
func (o *Outcome) Fit(tokens int, keep func(full []byte) (resource string, err error)) {
	if tokens <= 0 {
		tokens = DefaultTokens
	}
	room := min(tokens, MaxTokens) * bytesPerToken
	if len(o.Calls) > maxCallRecords {
		half := maxCallRecords / 2
		o.CallsLeftOut = len(o.Calls) - maxCallRecords
		o.Calls = append(append([]CallRecord{}, o.Calls[:half]...), o.Calls[len(o.Calls)-half:]...)
	}
	size := len(o.Value)
	for _, item := range o.Output {
		size += len(item.Text)
	}
	for _, line := range o.Console {
		size += len(line.Text)
	}
	if size <= room {
		return
	}
	full := o.full()
	o.Truncated = &Truncation{Bytes: int64(len(full))}
	if keep != nil {
		if resource, err := keep(full); err == nil {
			o.Truncated.Resource = resource
		} else {
			o.Notices = append(o.Notices, "the whole output could not be kept: "+err.Error())
		}
	}
	room -= o.fitConsole(room / 8)
	if len(o.Value) > room/2 {
		// Half of a JSON value is none.
		o.Output = append(o.Output, Item{Text: string(o.Value)})
		o.Value, o.ValueLeftOut = nil, true
	}
	o.Output = headAndTail(o.Output, room-len(o.Value))
}

// full is everything that a script left behind, as text.
func (o *Outcome) full() []byte {
	var b bytes.Buffer
	for _, item := range o.Output {
		if item.Block == nil {
			b.WriteString(strings.TrimSuffix(item.Text, "\n") + "\n")
		}
	}
	if o.Value != nil {
		b.Write(o.Value)
		b.WriteByte('\n')
	}
	for _, line := range o.Console {
		b.WriteString("[" + line.Level + "] " + line.Text + "\n")
	}
	return b.Bytes()
}

// fitConsole keeps the end of the console, and returns the size of what it keeps.
func (o *Outcome) fitConsole(room int) int {
	size := 0
	for i := len(o.Console) - 1; i >= 0; i-- {
		if size+len(o.Console[i].Text) > room {
			o.Dropped += i + 1
			o.Console = o.Console[i+1:]
			return size
		}
		size += len(o.Console[i].Text)
	}
	return size
}

// headAndTail leaves lines out of the middle of output until it has at most room
// bytes. Blocks stay.
func headAndTail(items []Item, room int) []Item {
	type piece struct {
		item int
		line string // with its end; a block has none
	}
	var pieces []piece
	total := 0
	for i, item := range items {
		if item.Block != nil {
			pieces = append(pieces, piece{item: i})
		}
		for line := range strings.Lines(item.Text) {
			pieces = append(pieces, piece{i, line})
		}
		total += len(item.Text)
	}
	if total <= room {
		return items
	}
	room = max(room, 0)
	first, last := 0, len(pieces) // what lies between is left out
	left := room / 2
	for first < last && len(pieces[first].line) <= left {
		left -= len(pieces[first].line)
		first++
	}
	var cut string // of a line that alone is longer than its half
	if first == 0 || left > room/4 {
		cut = clip(pieces[first].line, left)
	}
	left = room / 2
	for last > first && len(pieces[last-1].line) <= left {
		left -= len(pieces[last-1].line)
		last--
	}
	var end string
	if last > first && left > room/4 {
		end = clipEnd(pieces[last-1].line, left)
	}
	gap := -len(cut) - len(end)
	for _, p := range pieces[first:last] {
		gap += len(p.line)
	}
	var out []Item
	at := -1
	add := func(item int, text string) {
		if item != at {
			out = append(out, Item{})
			at = item
		}
		out[len(out)-1].Text += text
	}
	for i, p := range pieces {
		switch {
		case items[p.item].Block != nil && p.line == "":
			out = append(out, items[p.item])
			at = -1
		case i < first || i >= last:
			add(p.item, p.line)
		case i == first:
			text := cut
			if cut != "" && !strings.HasSuffix(cut, "\n") {
				text += "…\n"
			}
			text += fmt.Sprintf("[%d bytes in %d lines left out]\n", gap, last-first)
			if end != "" {
				text += "…" + end
			}
			add(p.item, text)
		}
	}
	return out
}

// clip is the beginning of s, at most n bytes of whole characters.
func clip(s string, n int) string {
	n = min(n, len(s))
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clipEnd is the end of s, at most n bytes of whole characters.
func clipEnd(s string, n int) string {
	from := max(len(s)-n, 0)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
