package main

import (
	"errors"
	"strings"
	"testing"
)

func TestForModel(t *testing.T) {
	got := forModel([]byte(`{"title":"T","inputSchema":{"maximum": 1e400},"name":"a\u00e9","outputSchema":{},"annotations":{}}`))
	if want := `{"name":"a\u00e9","inputSchema":{"maximum": 1e400}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReport(t *testing.T) {
	bytes := func(text string) (int, error) { return len(text), nil } // a token is a byte
	all := []prompt{
		{exposure: "direct", tools: []tool{
			{"a__x", strings.Repeat("x", 3000), strings.Repeat("x", 1500)},
			{"a__y", "xxxx", "xx"}, {"b__z", "xxxx", "xx"}, {"result_read", "xxxx", "xxxx"},
		}, instructions: "12"},
		{exposure: "deferred", tools: []tool{{"tool_search", "xxxx", "xxxx"}}, instructions: "1234567", searches: []int{4, 8}},
	}
	var out strings.Builder
	if err := report(&out, all, bytes); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"| a | 2 | 1,502 | 751 | 3,004 | -78 % |",
		"| together | 3 | 1,504 | 501 | 3,008 | -78 % |",
		"| direct | 1,508 | 2 | 1,510 | 100.0 % |",
		"| deferred | 4 | 7 | 11 | 0.7 % | 6 | 8 | 17 | 1.1 % |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	failed := errors.New("no vocabulary")
	if err := report(&out, all, func(string) (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
}

func TestReportAdapters(t *testing.T) {
	all := map[string]*sums{"a": {tools: 2, tokens: 1500, whole: 1600}, "raw-a": {tools: 9, tokens: 9000, whole: 9999}, "b": {tools: 1, tokens: 10, whole: 20}}
	var out strings.Builder
	if err := reportAdapters(&out, all); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"| a | 2 | 1,500 | 1,600 | 9 | 9,000 | 9,999 |", "| b | 1 | 10 | 20 | | | |"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(got, "raw-") {
		t.Errorf("%s", got)
	}
}
