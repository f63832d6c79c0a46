// Package content turns a tool's result into what a person reads: texts as they
// are, one line for everything that is not text, and files for what was asked to
// be saved.
//
// Content blocks come first: structuredContent is shown only when there is no
// block. The package never changes a byte of text, and never decides what is
// safe on a terminal; its writer does.
package content

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Print writes the result to w. Every block ends its own line. What is binary is
// described by one line, and stored as a file when files is not nil. The error
// is a write error of w or of a file; everything else has been printed by then.
func Print(w io.Writer, result json.RawMessage, files *Files) error {
	root := gjson.ParseBytes(result)
	var (
		text   strings.Builder
		failed error
	)
	blocks := root.Get("content").Array() // a lone value, which some servers send, counts as one block
	for _, b := range blocks {
		line, err := block(b, files)
		if err != nil && failed == nil {
			failed = err
		}
		text.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			text.WriteByte('\n')
		}
	}
	if structured := root.Get("structuredContent"); len(blocks) == 0 && structured.Exists() {
		text.WriteString(structured.Raw)
		text.WriteByte('\n')
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return failed
}

// Empty says whether a result has nothing that Print prints, and what it calls
// itself (MCP 2026-07-28, resultType) when that is not "complete".
func Empty(result json.RawMessage) (empty bool, kind string) {
	root := gjson.ParseBytes(result)
	if kind = root.Get("resultType").String(); kind == "complete" {
		kind = ""
	}
	return len(root.Get("content").Array()) == 0 && !root.Get("structuredContent").Exists(), kind
}

// Save stores the binary blocks of a result without printing any of it, and
// returns one line for each.
func Save(result json.RawMessage, files *Files) (lines []string, err error) {
	for _, b := range gjson.GetBytes(result, "content").Array() {
		label, mime, data, ok := binary(b)
		if !ok {
			continue
		}
		line, saveErr := describe(label, mime, data, files)
		if saveErr != nil && err == nil {
			err = saveErr
		}
		lines = append(lines, line)
	}
	return lines, err
}

// block is one content block for a person.
func block(b gjson.Result, files *Files) (string, error) {
	if b.Type == gjson.String {
		return b.String(), nil
	}
	if label, mime, data, ok := binary(b); ok {
		return describe(label, mime, data, files)
	}
	switch kind := b.Get("type").String(); kind {
	case "text":
		return b.Get("text").String(), nil
	case "resource_link":
		line := b.Get("name").String()
		if title := b.Get("title").String(); line == "" {
			line = title
		}
		return strings.TrimSpace(line + " " + b.Get("uri").String()), nil
	case "resource":
		if text := b.Get("resource.text"); text.Type == gjson.String {
			return text.String(), nil
		}
		return fmt.Sprintf("[resource %s left out: it has neither text nor blob]", b.Get("resource.uri").String()), nil
	case "":
		return "[a block without a type left out; --json shows it]", nil
	default:
		return fmt.Sprintf("[%s block left out, %d bytes: this version of collet does not know it; --json shows it]", kind, len(b.Raw)), nil
	}
}

// binary finds the base64 text of an image, audio or blob block. The label says
// what it is: its kind, a resource's URI, its media type.
func binary(b gjson.Result) (label, mime string, data gjson.Result, ok bool) {
	switch kind := b.Get("type").String(); kind {
	case "image", "audio":
		mime, data, ok = b.Get("mimeType").String(), b.Get("data"), true
		label = joined(kind, mime)
	case "resource":
		mime, data = b.Get("resource.mimeType").String(), b.Get("resource.blob")
		label, ok = joined(kind, b.Get("resource.uri").String(), mime), data.Type == gjson.String
	}
	return label, mime, data, ok
}

func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// describe is the one line for a binary block: "[image image/png 1234 bytes]".
func describe(label, mime string, data gjson.Result, files *Files) (string, error) {
	content, err := base64.StdEncoding.DecodeString(data.String())
	if err != nil {
		return fmt.Sprintf("[%s left out: its data is not base64]", label), nil
	}
	line := fmt.Sprintf("%s %d bytes", label, len(content))
	if files == nil {
		return "[" + line + "]", nil
	}
	path, err := files.store(mime, content)
	if err != nil {
		return "[" + line + ", not saved]", err
	}
	return "[" + line + " saved to " + path + "]", nil
}
