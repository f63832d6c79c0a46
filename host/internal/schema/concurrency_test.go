package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A usual tool: the quick yes knows all its keywords.
const usual = `{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100},` +
	`"labels":{"type":"array","items":{"type":"string"}}},"required":["owner","repo"],"additionalProperties":false}`

const usualArguments = `{"owner":"octo","repo":"hello","limit":30,"labels":["a","b"]}`

func TestConcurrentUse(t *testing.T) {
	s := Compile(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"minProperties":1}`))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 50 {
				good, bad := s.Validate(fmt.Appendf(nil, `{"n":%d}`, n)), s.Validate(fmt.Appendf(nil, `{"n":"x","m":%d}`, n))
				if good != nil || len(bad) != 1 || bad[0].Path != "/n" {
					t.Errorf("goroutine %d: %v, %v", i, good, bad)
				}
			}
		})
	}
	wg.Wait()
}

// A value that takes its whole second does not hold up the others. There are as
// many copies of a schema as processors at most; then one waits for the next.
func TestValidationsDoNotWaitForEachOther(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := Compile(json.RawMessage(`{"multipleOf":3}`))
	validated := func() chan bool {
		done := make(chan bool, 1)
		go func() { done <- s.Validate(json.RawMessage(`9`)) == nil && len(s.Validate(json.RawMessage(`10`))) == 1 }()
		return done
	}
	first, err := s.engines.take() // as a validation does that is at work
	if err != nil {
		t.Fatal(err)
	}
	select {
	case ok := <-validated():
		if !ok {
			t.Error("a second copy of the schema judges otherwise")
		}
	case <-time.After(hang):
		t.Fatal("a validation waits for another although a processor is free")
	}

	second, err := s.engines.take()
	if err != nil || second == first {
		t.Fatalf("one engine for two users (%v)", err)
	}
	third := validated()
	select {
	case <-third:
		t.Error("a validation has begun that there was no processor for")
	case <-time.After(10 * s.engines.cost):
	}
	s.engines.idle <- second
	select {
	case ok := <-third:
		if !ok {
			t.Error("the copy that was used before judges otherwise")
		}
	case <-time.After(hang):
		t.Fatal("a validation does not go on although an engine came back")
	}
}

// A warm call's arguments cost next to nothing; the race detector makes pools
// forget, so a few allocations may come from there.
func TestQuickYesAllocatesLittle(t *testing.T) {
	s := Compile(json.RawMessage(usual))
	arguments := json.RawMessage(usualArguments)
	n := testing.AllocsPerRun(200, func() {
		if p := s.Validate(arguments); p != nil {
			t.Fatal(p)
		}
	})
	if n > 4 {
		t.Errorf("%v allocations to validate a small object", n)
	}
}

// What takes the quick yes, and what needs the library. Values that are invalid,
// or that cannot be checked, must not be among the quick.
func TestQuickYes(t *testing.T) {
	const nullable = `{"properties":{"q":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}},"$defs":{"a":{"type":"object","required":["x"],"additionalProperties":{"minLength":2}}}}`
	for _, c := range []struct {
		schema, instance string
		quick            bool
	}{
		{usual, usualArguments, true},
		{usual, " {\n\t\"repo\" : \"r\" , \"owner\" : \"\" , \"labels\" : [ ] } ", true},
		{usual, `{"\u006fwner":"a\"b\\","repo":"\n"}`, true},
		{usual, `{"owner":"","repo":"a","owner":1}`, false},
		{usual, `{"owner":1,"repo":"a","owner":""}`, false}, // valid, the last one counts
		{usual, `{"owner":"","repo":""}`, false},
		{usual, `{"owner":""}`, false},
		{usual, `{"owner":"","repo":"a","x":1}`, false},
		{usual, `{"owner":"","repo":"a","limit":101}`, false},
		{usual, `{"owner":"","repo":"a","limit":1.0}`, false}, // valid
		{usual, `{"owner":"","repo":"a","labels":["a",1]}`, false},
		{usual, `{"owner":"","repo":"a"} x`, false},
		{usual, "{\"owner\":\"\xff\",\"repo\":\"a\"}", false},
		{usual, `{"owner":"","repo":"a"`, false},
		{usual, ``, false},
		{nullable, `{"q":null}`, true},
		{nullable, `{"q":{"x":"ab","y":"äö"},"z":[{"any":1.5}]}`, true},
		{nullable, `{"q":{"x":"a"}}`, false},
		{nullable, `{"q":{}}`, false},
		{nullable, `{"z":1e1000000000}`, false},
		{`{"$ref":"#/$defs/a","maximum":3,"$defs":{"a":{"minimum":2}}}`, `3`, true},
		{`{"$ref":"#/$defs/a","maximum":3,"$defs":{"a":{"minimum":2}}}`, `4`, false},
		{`{"$ref":"#/$defs/a","maximum":3,"$defs":{"a":{"minimum":2}}}`, `1`, false},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","maximum":3,"definitions":{"a":{"minimum":2}}}`, `4`, true},
		{`{"exclusiveMinimum":0,"exclusiveMaximum":9007199254740993}`, `9007199254740992`, true},
		{`{"exclusiveMinimum":0,"exclusiveMaximum":9007199254740993}`, `9007199254740993`, false},
		{`{"exclusiveMinimum":0}`, `0`, false},
		{`{"exclusiveMinimum":0}`, `99999999999999999999`, false}, // valid
		{`{"enum":["a",1,null,true]}`, `true`, true},
		{`{"enum":["a",1,null,true]}`, `"a"`, true},
		{`{"enum":["a",1,null,true]}`, `1`, true},
		{`{"enum":["a",1,null,true]}`, `1.0`, false}, // valid
		{`{"enum":["a",1,null,true]}`, `false`, false},
		{`{"enum":["a",1,"null",true]}`, `null`, false},
		{`{"enum":["a","1"]}`, `1`, false},
		{`{"minItems":1,"maxItems":2}`, `[[],{}]`, true},
		{`{"minItems":1,"maxItems":2}`, `[]`, false},
		{`{"minItems":1,"maxItems":2}`, `[1,2,3]`, false},
		{`{"maxLength":1}`, `"ü"`, true},
		{`{"maxLength":1}`, `"üa"`, false},
		{`{"pattern":"^a+$"}`, `"aa"`, true},
		{`{"pattern":"^a+$"}`, `"ab"`, false},
		{`{"type":"number"}`, `1.5`, true},
		{`{"type":"integer"}`, `1.5`, false},
		{`{"multipleOf":1}`, `1`, false}, // valid, a keyword that is not known
		{`{"properties":{"a":false}}`, `{}`, true},
		{`{"properties":{"a":false}}`, `{"a":1}`, false},
		{`{"unevaluatedProperties":false}`, `{}`, false}, // valid
	} {
		s := Compile(json.RawMessage(c.schema))
		if s.Unchecked() != "" {
			t.Errorf("%s is unchecked: %s", c.schema, s.Unchecked())
		} else if quick := s.surely([]byte(c.instance)); quick != c.quick {
			t.Errorf("%s against %s: quick %v", c.instance, c.schema, quick)
		} else if slow := s.check([]byte(c.instance)); quick && slow != nil {
			t.Errorf("%s against %s: a quick yes, but %v", c.instance, c.schema, slow)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	schema := Compile(json.RawMessage(usual))
	arguments := json.RawMessage(usualArguments)
	for _, way := range []struct {
		name string
		of   func() bool
	}{
		{"quick", func() bool { return schema.Validate(arguments) == nil }},
		{"library", func() bool { return schema.check(arguments) == nil }},
	} {
		for _, goroutines := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", way.name, goroutines), func(b *testing.B) {
				b.ReportAllocs()
				var wg sync.WaitGroup
				for range goroutines {
					wg.Go(func() {
						for range b.N/goroutines + 1 {
							if !way.of() {
								b.Error("refused")
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}
