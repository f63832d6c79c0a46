package search

import (
	"encoding/json"
	"testing"
)

// ownSet is the project's own: ten invented servers, and questions of six kinds.
func ownSet(t testing.TB) (*Index, []question) {
	index := load(t, "testdata/tools.jsonl")
	var questions []question
	eachLine(t, "testdata/questions.jsonl", func(line []byte) {
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
	})
	return index, questions
}

func TestOwnSet(t *testing.T) {
	index, questions := ownSet(t)
	kinds := map[string][]question{}
	for _, q := range questions {
		kinds[q.Kind] = append(kinds[q.Kind], q)
	}
	// What is reached, less a question or two: who loses more has to look at which.
	floors := map[string]quality{
		"words":          {0.73, 0.95, 0.98, 0.84},
		"fields":         {0.92, 1, 1, 0.95},
		"typos":          {0.90, 1, 1, 0.95},
		"names":          {1, 1, 1, 1},
		"own language":   {0.91, 1, 1, 0.95},
		"other language": {0.87, 1, 1, 0.93},
	}
	for kind, of := range kinds {
		got := evaluate(index.Snapshot(), of, func(q question, got []string) { t.Logf("%q wants %v, got %v", q.Text, q.Relevant, got) })
		t.Logf("%s (%d): %v", kind, len(of), got)
		floor, ok := floors[kind]
		if !ok {
			t.Errorf("questions of kind %q have no floor", kind)
		}
		if !got.atLeast(floor) {
			t.Errorf("%s: %v\nbelow %v", kind, got, floor)
		}
	}
}
