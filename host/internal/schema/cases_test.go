package schema

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Case B012: nothing is fetched, neither while compiling nor while validating, not
// even what is there and would answer.
func TestReferencesAreNeverFetched(t *testing.T) {
	var dials atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		dials.Add(1)
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{
		`{"$ref":"` + server.URL + `/a"}`,
		`{"properties":{"q":{"$ref":"` + server.URL + `/a#/b"}}}`,
		`{"$id":"` + server.URL + `/root","properties":{"q":{"$ref":"a"}}}`,
		`{"$schema":"` + server.URL + `/dialect"}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":"` + server.URL + `/a#x"}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"` + server.URL + `/a"}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"` + server.URL + `/root","properties":{"q":{"$ref":"a"}}}`,
		`{"$ref":"file://` + filepath.ToSlash(file) + `"}`,
		`{"$id":"file://` + filepath.ToSlash(filepath.Dir(file)) + `/","properties":{"q":{"$ref":"schema.json"}}}`,
	} {
		s := Compile(json.RawMessage(schema))
		if s.Unchecked() == "" {
			t.Errorf("%s is checked", schema)
		}
		if p := s.Validate(json.RawMessage(`{"q":1}`)); p != nil {
			t.Errorf("%s: an unchecked schema refuses a value: %v", schema, p)
		}
	}
	if n := dials.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

// Case B017: 1.5 KB that double must not cost a second, whichever way they double.
func TestDoublingCostsNoSecond(t *testing.T) {
	for _, c := range []struct{ what, level, last, around string }{
		{"allOf", `{"allOf":[{"$ref":"#/$defs/l#N"},{"$ref":"#/$defs/l#N"}]}`, `{"type":"string"}`, `"properties":{"q":{"$ref":"#/$defs/l0"}}`},
		{"anyOf", `{"anyOf":[{"$ref":"#/$defs/l#N"},{"$ref":"#/$defs/l#N"}]}`, `{"type":"string"}`, `"properties":{"q":{"$ref":"#/$defs/l0"}}`},
		{"not", `{"allOf":[{"not":{"$ref":"#/$defs/l#N"}},{"not":{"$ref":"#/$defs/l#N"}}]}`, `{"type":"string"}`, `"$ref":"#/$defs/l0"`},
		{"if", `{"if":{"$ref":"#/$defs/l#N"},"then":{"$ref":"#/$defs/l#N"}}`, `{}`, `"items":{"$ref":"#/$defs/l0"}`},
		{"dependentSchemas", `{"dependentSchemas":{"q":{"$ref":"#/$defs/l#N"},"r":{"$ref":"#/$defs/l#N"}}}`, `{}`, `"$ref":"#/$defs/l0"`},
	} {
		var b strings.Builder
		fmt.Fprintf(&b, `{%s,"$defs":{"l20":%s`, c.around, c.last)
		for i := range 20 {
			fmt.Fprintf(&b, `,"l%d":%s`, i, strings.ReplaceAll(c.level, "#N", strconv.Itoa(i+1)))
		}
		schema := b.String() + `}}`
		start := time.Now()
		s := Compile(json.RawMessage(schema))
		if p := s.Validate(json.RawMessage(`{"q":"x","r":1}`)); p != nil {
			t.Errorf("%s: %v", c.what, p)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("%s: %d bytes of schema took %v", c.what, len(schema), d)
		}
		if !strings.Contains(s.Unchecked(), "too costly") {
			t.Errorf("%s: unchecked %q", c.what, s.Unchecked())
		}
	}
}

// A base that changes when a reference is resolved against it sent the library
// round in circles until the stack, and the host with it, was gone.
func TestUnstableBases(t *testing.T) {
	for _, id := range []string{
		"?", "?#", "?a", "./", ".", "..", "x/..", "x/./y", "#", "//schema", "//schema/", "//schema/.", "/", "//", "///", ":", "collet:", "collet:/", "collet:.", "collet:?",
		"collet://schema", "collet://schema/", "collet://schema/.", "collet://schema/?", "COLLET://schema/", "collet://SCHEMA/", "collet://schema/x/..", "collet://@schema/",
		"collet://schema:/", "urn:", "URN:", "urn:#", "urn:x?", "urn:x?=a", "%2e/", "%2E", "a%2fb", "a b", "mailto:x", "http://", "http://a/../b", "http://a/%zz", "é", "\\",
	} {
		for _, dialect := range suiteDrafts {
			key := "$id"
			if strings.Contains(dialect, "draft-04") {
				key = "id"
			}
			for _, form := range []string{
				`{"$schema":%q,%q:%q,"type":"object","not":{"type":"null"}}`,
				`{"$schema":%q,%q:%q,"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/a"}}}`,
				`{"$schema":%q,"type":"object","definitions":{"a":{%q:%q,"type":"object","properties":{"a":{"$ref":"#"}}}},"properties":{"a":{"$ref":"#/definitions/a"}}}`,
			} {
				// Checked or not, it ends; and what is checked is checked rightly.
				s := Compile(fmt.Appendf(nil, form, dialect, key, id))
				if p := s.Validate(json.RawMessage(`{"a":{"a":{}}}`)); p != nil {
					t.Errorf("%s %q: %v", dialect, id, p)
				}
				if p := s.Validate(json.RawMessage(`7`)); s.Unchecked() == "" && len(p) == 0 {
					t.Errorf("%s %q lets a number through", dialect, id)
				}
			}
			s := Compile(fmt.Appendf(nil, `{"$schema":%q,"properties":{"q":{"$ref":%q}},%q:"http://x.example/"}`, dialect, id, key))
			s.Validate(json.RawMessage(`{"q":{"q":1}}`))
		}
	}
}
