package main

import "encoding/json"

// contents are tools that always answer the same result, "name: result".
var contents = map[string]string{
	"c_numbers":         `{"content":[{"type":"text","text":"numbers"}],"structuredContent":{"zebra":1,"alpha":2,"one":1.0,"exp":1e2,"small":1E-7,"neg0":-0.0,"big":9007199254740993}}`,
	"c_key_order":       `{"zeta":1,"content":[{"text":"order","type":"text"}],"structuredContent":{"b":1,"a":2,"c":{"z":1,"y":2}},"alpha":{"unknown":true}}`,
	"c_html":            `{"content":[{"type":"text","text":"a<b> & c</b> 'q' ` + "\u2028\u2029" + `"}]}`,
	"c_unicode":         `{"content":[{"type":"text","text":"日本語 🤖 é ` + `\u00e9\ud83e\udd16` + `"}]}`,
	"c_link":            `{"content":[{"type":"text","text":"job 7"},{"type":"resource_link","uri":"nasty://thing/1","name":"thing one"}]}`,
	"c_mixed":           `{"content":[{"type":"text","text":"mixed"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},{"type":"resource_link","uri":"nasty://thing/1","name":"thing one"},{"type":"resource","resource":{"uri":"nasty://text","mimeType":"text/plain","text":"inside"}}]}`,
	"c_embed_text":      `{"content":[{"type":"resource","resource":{"uri":"nasty://text","mimeType":"text/plain","text":"inside"}}]}`,
	"c_embed_blob":      `{"content":[{"type":"resource","resource":{"uri":"nasty://pdf","mimeType":"application/pdf","blob":"JVBERi0="}}]}`,
	"c_image":           `{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}]}`,
	"c_audio":           `{"content":[{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}]}`,
	"c_structured_only": `{"content":[],"structuredContent":{"answer":42}}`,
	"c_no_content":      `{"structuredContent":{"answer":42}}`,
	"c_differ":          `{"content":[{"type":"text","text":"THE TEXT"}],"structuredContent":{"the":"STRUCTURE"}}`,
	"c_unknown_type":    `{"content":[{"type":"hologram","beam":1},{"type":"text","text":"and text"}]}`,
	"c_bad_text":        `{"content":[{"type":"text","text":5},{"type":"text","text":"and text"}]}`,
	"c_bad_base64":      `{"content":[{"type":"image","data":"***","mimeType":"image/png"}]}`,
	"c_content_string":  `{"content":"just text"}`,
	"c_result_array":    `[1,2]`,
	"c_result_null":     `null`,
	"c_case_keys":       `{"content":[{"type":"text","text":"right","Text":"wrong"}],"Content":[]}`,
	"c_repeated_keys":   `{"content":[{"type":"text","text":"repeated"}],"structuredContent":{"a":1,"a":2}}`,
	"c_meta":            `{"content":[{"type":"text","text":"meta","_meta":{"com.example/block":1}}],"_meta":{"com.example/trace":"t-1"}}`,
	"c_ansi":            `{"content":[{"type":"text","text":"\u001b[2J\u001b]52;c;eA==\u0007red \u001b[31m"}]}`,
	"c_bidi":            `{"content":[{"type":"text","text":"abc` + "\u202e" + `def"}]}`,
	"c_error":           `{"isError":true,"content":[{"type":"text","text":"quota used up"}]}`,
	"c_task":            `{"resultType":"task","taskId":"t-1"}`,
	"o_ok":              `{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`,
	"o_missing":         `{"content":[{"type":"text","text":"{\"n\":1}"}]}`,
	"o_invalid":         `{"content":[{"type":"text","text":"{\"n\":\"x\"}"}],"structuredContent":{"n":"x"}}`,
	"o_error":           `{"isError":true,"content":[{"type":"text","text":"quota used up"}],"structuredContent":{"error":{"code":7}}}`,
	"o_bigint":          `{"content":[{"type":"text","text":"big"}],"structuredContent":{"n":9007199254740993}}`,
	"o_draft07":         `{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}`,
}

// outputs are the output schemas of the tools that declare one.
var outputs = map[string]string{
	"o_ok":      outputN,
	"o_missing": outputN,
	"o_invalid": outputN,
	"o_error":   outputN,
	"o_bigint":  `{"type":"object","properties":{"n":{"type":"integer","minimum":9007199254740993,"maximum":9007199254740993}},"required":["n"]}`,
	"o_draft07": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
}

const outputN = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`

// textResult is a result of one text block.
func textResult(text string) string {
	return `{"content":[{"type":"text","text":` + quote(text) + `}]}`
}

// arguments decodes a call's arguments into a struct of the tool's own.
func arguments(m message, into any) {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(m.Params, &p) == nil && p.Arguments != nil {
		_ = json.Unmarshal(p.Arguments, into) // what does not fit keeps its default
	}
}
