package codemode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What is over its limit keeps its beginning and its end by whole lines, and all of it
// goes to the sink.
func TestFit(t *testing.T) {
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	image := json.RawMessage(`{"type":"image","data":"AA==","mimeType":"image/png"}`)
	o := Outcome{Status: Completed, Output: []Item{{Text: "first"}, {Text: long.String()}, {Block: image}, {Text: "last"}}, Value: json.RawMessage(`{"a":1}`)}
	var kept string
	o.Fit(500, func(full []byte) (string, error) {
		kept = string(full)
		return "result-1", nil
	})
	if want := "first\n" + long.String() + "last\n" + `{"a":1}` + "\n"; kept != want {
		t.Errorf("kept %d bytes, want %d", len(kept), len(want))
	}
	if o.Truncated == nil || o.Truncated.Resource != "result-1" || o.Truncated.Bytes != int64(len(kept)) {
		t.Errorf("%+v", o.Truncated)
	}
	size := 0
	var all strings.Builder
	images := 0
	for _, item := range o.Output {
		size += len(item.Text)
		all.WriteString(item.Text + "\n")
		if item.Block != nil {
			images++
		}
	}
	if size > 500*4+100 || images != 1 {
		t.Errorf("%d bytes and %d images are left", size, images)
	}
	text := all.String()
	for _, want := range []string{"first\n", "line 0\nline 1\n", "lines left out]\n", "line 4998\nline 4999\n", "last\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in what is left", want)
		}
	}
	for line := range strings.Lines(text) {
		if l := strings.TrimSpace(line); strings.HasPrefix(l, "line") && !strings.Contains(long.String(), l+"\n") {
			t.Errorf("%q is not a whole line", l)
		}
	}
	if string(o.Value) != `{"a":1}` {
		t.Errorf("the value is %s", o.Value)
	}
}

// One line that is too long is cut, a value that is too long becomes the last output.
func TestFitWithoutLines(t *testing.T) {
	o := Outcome{Value: json.RawMessage(`"` + strings.Repeat("ä", 10_000) + `"`)}
	o.Fit(100, nil)
	if o.Value != nil || !o.ValueLeftOut || len(o.Output) != 1 || len(o.Output[0].Text) > 500 {
		t.Fatalf("%+v", o)
	}
	if text := o.Output[0].Text; !strings.HasPrefix(text, `"ää`) || !strings.HasSuffix(text, `ää"`) || !json.Valid([]byte(`"`+strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), `"`, "")+`"`)) {
		t.Errorf("%q", text)
	}
	small := Outcome{Output: []Item{{Text: "a"}}}
	small.Fit(0, func([]byte) (string, error) { t.Error("nothing was to be kept"); return "", nil })
	if small.Truncated != nil {
		t.Error("nothing was to be left out")
	}
}

func TestFitCalls(t *testing.T) {
	var o Outcome
	for i := range 1000 {
		o.Calls = append(o.Calls, CallRecord{ID: i + 1})
	}
	o.Fit(0, nil)
	if len(o.Calls) != 50 || o.CallsLeftOut != 950 || o.Calls[0].ID != 1 || o.Calls[49].ID != 1000 {
		t.Errorf("%d calls, %d left out", len(o.Calls), o.CallsLeftOut)
	}
}

func FuzzFit(f *testing.F) {
	f.Add("a\nb\nc", "\n\n", 1)
	f.Add(strings.Repeat("x", 1000), "ü", 7)
	f.Fuzz(func(t *testing.T, one, two string, tokens int) {
		o := Outcome{Output: []Item{{Text: one}, {Block: json.RawMessage(`{}`)}, {Text: two}}}
		o.Fit(tokens, nil)
		size := 0
		for _, item := range o.Output {
			size += len(item.Text)
		}
		if tokens > 0 && tokens < MaxTokens && size > tokens*bytesPerToken+200 {
			t.Errorf("%d bytes for %d tokens", size, tokens)
		}
	})
}

func TestRendering(t *testing.T) {
	o := Outcome{
		Status: Failed, Duration: 1234 * time.Millisecond, Output: []Item{{Text: "a\n"}, {Block: json.RawMessage(`{"type":"image"}`)}, {Text: "b"}},
		Console: []Line{{Level: "warn", Text: "careful"}}, Dropped: 2,
		Error: &Error{Kind: KindScript, Name: "ToolError", Message: "no", Line: 3, Column: 5, Stack: "    at script:3:5", Tool: "t/x", Code: CodeDenied},
		Calls: []CallRecord{{ID: 1, Tool: "t/x", Status: "error", Duration: 2 * time.Millisecond, ArgsBytes: 2, Code: CodeDenied, Message: "no"}},
	}
	want := `{"status":"failed","output":[{"type":"text","text":"a\n"},{"type":"image"},{"type":"text","text":"b"}],"console":[{"level":"warn","text":"careful"}],"console_dropped":2,` +
		`"error":{"kind":"script","name":"ToolError","message":"no","line":3,"column":5,"stack":"    at script:3:5","tool":"t/x","code":"denied"},` +
		`"calls":[{"id":1,"tool":"t/x","status":"error","duration_ms":2,"args_bytes":2,"result_bytes":0,"error":{"code":"denied","message":"no"}}],"duration_ms":1234,"cpu_ms":0}`
	if got := string(o.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var blocks []string
	for _, b := range o.Blocks() {
		blocks = append(blocks, string(b))
	}
	wantBlocks := []string{
		`{"type":"text","text":"Script failed in 1.2 s, 1 call\nscript: ToolError: no (line 3, column 5)\n    at script:3:5\na"}`,
		`{"type":"image"}`,
		`{"type":"text","text":"b\nConsole:\n[warn] careful\n[2 lines dropped]"}`,
	}
	if fmt.Sprint(blocks) != fmt.Sprint(wantBlocks) {
		t.Errorf("got  %q\nwant %q", blocks, wantBlocks)
	}
}
