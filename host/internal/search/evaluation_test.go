package search

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/collet-dev/collet/host/internal/name"
)

// question is a query with the tools that answer it, by canonical name.
type question struct {
	Kind     string   `json:"kind"`
	Text     string   `json:"text"`
	Relevant []string `json:"relevant"`
}

// quality is how well a ranker answers questions, each figure between 0 and 1.
type quality struct {
	first, five, ten float64 // recall: relevant tools in the first k / min(k, relevant)
	reciprocal       float64 // mean of 1 / rank of the first relevant one
}

func (q quality) String() string {
	return fmt.Sprintf("R@1 %.3f  R@5 %.3f  R@10 %.3f  MRR %.3f", q.first, q.five, q.ten, q.reciprocal)
}

func (q quality) atLeast(floor quality) bool {
	return q.first >= floor.first && q.five >= floor.five && q.ten >= floor.ten && q.reciprocal >= floor.reciprocal
}

// evaluate asks all questions, and calls missed with those whose relevant tools
// are not all in the first five.
func evaluate(s *Snapshot, questions []question, missed func(q question, got []string)) quality {
	var sum quality
	for _, q := range questions {
		hits, _ := s.Search(q.Text, Options{Limit: s.Len()})
		var got []string
		for _, h := range hits {
			got = append(got, name.Join(h.Server, h.Tool))
		}
		recall := func(k int) float64 {
			n := 0
			for _, tool := range got[:min(k, len(got))] {
				if slices.Contains(q.Relevant, tool) {
					n++
				}
			}
			return float64(n) / float64(min(k, len(q.Relevant)))
		}
		sum.first += recall(1)
		sum.five += recall(5)
		sum.ten += recall(10)
		if at := slices.IndexFunc(got, func(tool string) bool { return slices.Contains(q.Relevant, tool) }); at >= 0 {
			sum.reciprocal += 1 / float64(at+1)
		}
		if missed != nil && recall(5) < 1 {
			missed(q, got[:min(5, len(got))])
		}
	}
	n := float64(len(questions))
	return quality{sum.first / n, sum.five / n, sum.ten / n, sum.reciprocal / n}
}

// COLLET_SEARCH_EVAL is a directory with sets of questions from outside, which are
// not the project's to copy: NAME.tools.jsonl, NAME.queries.jsonl.
const evaluationDir = "COLLET_SEARCH_EVAL"

// A set of 199 tools and 2,497 questions made from MetaTool (MIT). Nothing is
// tuned to it.
func TestMetaTool(t *testing.T) {
	dir := os.Getenv(evaluationDir)
	if dir == "" {
		t.Skipf("%s names no directory with metatool.tools.jsonl and metatool.queries.jsonl", evaluationDir)
	}
	index := load(t, filepath.Join(dir, "metatool.tools.jsonl"))
	var questions []question
	eachLine(t, filepath.Join(dir, "metatool.queries.jsonl"), func(line []byte) {
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
	})
	if index.Snapshot().Len() == 0 || len(questions) == 0 {
		t.Fatal("the set is empty")
	}
	got := evaluate(index.Snapshot(), questions, nil)
	t.Log(got)
	if floor := (quality{0.45, 0.65, 0.72, 0.54}); !got.atLeast(floor) {
		t.Errorf("%v\nbelow %v", got, floor)
	}
}

// load indexes the tools of a file, one JSON object a line.
func load(t testing.TB, path string) *Index {
	servers := map[string]*Server{}
	eachLine(t, path, func(line []byte) {
		var tool struct {
			Server            string
			Name              string
			Title             string
			Description       string
			Schema            json.RawMessage
			ServerDescription string `json:"server_description"`
		}
		if err := json.Unmarshal(line, &tool); err != nil {
			t.Fatal(err)
		}
		s := servers[tool.Server]
		if s == nil {
			s = &Server{Name: tool.Server, Description: tool.ServerDescription}
			servers[tool.Server] = s
		}
		s.Tools = append(s.Tools, Tool{Name: tool.Name, Title: tool.Title, Description: tool.Description, InputSchema: tool.Schema})
	})
	index := new(Index)
	for _, s := range servers {
		index.Put(*s)
	}
	return index
}

func eachLine(t testing.TB, path string, do func([]byte)) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			do(lines.Bytes())
		}
	}
}
