package codemode

import (
	"bytes"
	"encoding/json"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// unwrap is the value of a call for the script: of an MCP result, structuredContent
// if it has that, also null; else its text, as JSON when it is a single object or
// array; else the whole result. A result that says isError is a ToolError. The value
// may be a part of result, and neither is to be changed: a copy of a large one would
// take as much memory again.
func unwrap(result json.RawMessage) (json.RawMessage, *ToolError) {
	r := gjson.Parse(unsafe.String(unsafe.SliceData(result), len(result)))
	if !r.IsObject() {
		return nil, &ToolError{Code: CodeProtocol, Message: "the server's result is no JSON object"}
	}
	var isError, structured, content gjson.Result
	r.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "isError":
			isError = value
		case "structuredContent":
			structured = value
		case "content":
			content = value
		}
		return true
	})
	texts, allText := texts(content)
	if isError.Type == gjson.True {
		return nil, said(texts, content, structured)
	}
	if structured.Exists() {
		return unsafe.Slice(unsafe.StringData(structured.Raw), len(structured.Raw)), nil
	}
	if !allText {
		return result, nil
	}
	if len(texts) == 1 {
		if t := strings.TrimSpace(texts[0]); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
			if raw := []byte(t); json.Valid(raw) {
				return raw, nil
			}
		}
	}
	return rawjson.AppendString(nil, strings.Join(texts, "\n")), nil
}

// texts are the texts of a result's content, and whether it consists of nothing else.
func texts(content gjson.Result) (list []string, all bool) {
	all = content.IsArray()
	content.ForEach(func(_, block gjson.Result) bool {
		if block.Get("type").Str != "text" {
			all = false
			return true
		}
		list = append(list, block.Get("text").String())
		return true
	})
	return list, all
}

// said is the error of a tool that says it failed.
func said(texts []string, content, structured gjson.Result) *ToolError {
	e := &ToolError{Code: CodeTool, Message: strings.Clone(strings.TrimSpace(strings.Join(texts, "\n")))} // which is kept, and the result is not
	if e.Message == "" {
		e.Message = "the tool says that it failed, and not why"
	}
	var details rawjson.Object
	if content.Exists() {
		details.Raw("content", []byte(content.Raw))
	}
	if structured.Exists() {
		details.Raw("structuredContent", []byte(structured.Raw))
	}
	e.Details = bytes.Clone(details.Bytes())
	return e
}
