package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

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
	"c_input_required":  `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"sure?"}}},"requestState":"s-1"}`,
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

// schemas are input schemas that tools sch_NAME have under schema:NAME.
var schemas = map[string]string{
	"anyof_root":    `{"anyOf":[{"type":"object"},{"type":"object"}]}`,
	"required_null": `{"type":"object","properties":{"q":{"type":"string"}},"required":null}`,
	"prop_true":     `{"type":"object","properties":{"payload":true}}`,
	"prop_false":    `{"type":"object","properties":{"never":false}}`,
	"dialect_only":  `{"$schema":"http://json-schema.org/draft-07/schema#"}`,
	"notype":        `{"properties":{"q":{"type":"string"}}}`,
	"empty":         `{}`,
	"true":          `true`,
	"null":          `null`,
	"missing":       ``,
	"draft04":       `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}`,
	"draft06":       `{"$schema":"http://json-schema.org/draft-06/schema#","type":"object"}`,
	"draft2019":     `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object"}`,
	"draft_unknown": `{"$schema":"https://example.com/no-such-dialect","type":"object"}`,
	"pointer_ref":   `{"type":"object","properties":{"nodes":{"type":"array","items":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/properties/nodes/items"}}}}}}}`,
	"recursive":     `{"type":"object","properties":{"tree":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/T"}}}}}}`,
	"ref_loop":      `{"type":"object","properties":{"q":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`,
	"ref_self":      `{"type":"object","properties":{"self":{"$ref":"#"}}}`,
	"defs":          `{"type":"object","properties":{"c":{"$ref":"#/$defs/Colour"}},"$defs":{"Colour":{"enum":["red"]}}}`,
	"definitions":   `{"type":"object","properties":{"c":{"$ref":"#/definitions/Colour"}},"definitions":{"Colour":{"enum":["red"]}}}`,
	"ref_http":      `{"type":"object","properties":{"q":{"$ref":"http://169.254.7.7/latest/meta-data/"}}}`,
	"ref_file":      `{"type":"object","properties":{"q":{"$ref":"file:///etc/hostname"}}}`,
	"lookahead":     `{"type":"object","properties":{"q":{"type":"string","pattern":"^(?!bad).+$"}}}`,
	"lookbehind":    `{"type":"object","properties":{"q":{"type":"string","pattern":"(?<=a)b"}}}`,
	"backref":       `{"type":"object","properties":{"q":{"type":"string","pattern":"^(a)\\1$"}}}`,
	"patternprops":  `{"type":"object","patternProperties":{"^(?!x)":{"type":"string"}}}`,
	"regex_slow":    `{"type":"object","properties":{"q":{"type":"string","pattern":"^(a+)+$"}}}`,
	"int_big":       `{"type":"object","properties":{"id":{"const":9007199254740993}},"required":["id"]}`,
	"deep":          strings.Repeat(`{"anyOf":[`, 2000) + `{}` + strings.Repeat(`]}`, 2000),
	"wide":          `{"type":"object","properties":{"q":{"enum":[` + wideEnum() + `]}}}`,
	"bomb":          `{"type":"object","properties":{"q":{"$ref":"#/$defs/d0"}},"$defs":{` + bombDefs() + `}}`,
}

func wideEnum() string {
	values := make([]string, 20000)
	for i := range values {
		values[i] = fmt.Sprintf(`"v%d"`, i)
	}
	return strings.Join(values, ",")
}

// bombDefs is 40 levels that each refer twice to the next.
func bombDefs() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return b.String() + `"d40":{"type":"string"}`
}

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
