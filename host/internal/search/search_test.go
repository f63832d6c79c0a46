package search

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestEmpty(t *testing.T) {
	var index Index
	for _, query := range []string{"", "anything", "a,b", "你好"} {
		if hits, total := index.Search(query, Options{}); hits != nil || total != 0 {
			t.Errorf("%q: %v of %d in an empty index", query, hits, total)
		}
	}
	index.Put(Server{Name: "bare"}) // without tools
	index.Remove("unknown")
	if hits, total := index.Search("bare", Options{Server: "bare"}); hits != nil || total != 0 {
		t.Errorf("%v of %d", hits, total)
	}
	index.Put(Server{Name: "odd", Tools: []Tool{{Name: ""}, {Name: "x", Description: "first"}, {Name: "x", Description: "second"}}})
	if n := index.Snapshot().Len(); n != 1 {
		t.Errorf("%d tools, want the one with a name, once", n)
	}
	if got := search(&index, "first", Options{}); got != "odd/x" {
		t.Errorf("the first of a name is not the one: %q", got)
	}
	if got := search(&index, "second", Options{}); got != "" {
		t.Errorf("found %q by a text that was left out", got)
	}
}

// Each field leads to its tool, and a name counts most.
func TestFields(t *testing.T) {
	tool := func(name, title, description, schema string) Tool {
		return Tool{Name: name, Title: title, Description: description, InputSchema: []byte(schema)}
	}
	var index Index
	index.Put(Server{Name: "zoo", Description: "keeps animals", Instructions: "mind the gorillas", Tools: []Tool{
		tool("zebra", "", "", ""),
		tool("t1", "zebra", "", ""),
		tool("t2", "", "zebra", ""),
		tool("t3", "", "", `{"properties":{"zebra":{}}}`),
		tool("t4", "", "", `{"properties":{"x":{"enum":["zebra"]}}}`),
		tool("t5", "", "", `{"properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"description":"the giraffe"}}}`),
		tool("t6", "", "play the violin", ""),
	}})
	index.Put(Server{Name: "other", Tools: []Tool{tool("t0", "", "about bread", "")}})
	for query, want := range map[string]string{
		"zebras":         "zoo/zebra zoo/t1 zoo/t2 zoo/t3 zoo/t4",
		"giraffe":        "zoo/t5",
		"zoo giraffe":    "zoo/t5 zoo/t1 zoo/t2 zoo/t3 zoo/t4 zoo/t6 zoo/zebra",
		"gorilla violin": "zoo/t6 zoo/t1 zoo/t2 zoo/t3 zoo/t4 zoo/t5 zoo/zebra",
		"bread animals":  "other/t0 zoo/t1 zoo/t2 zoo/t3 zoo/t4 zoo/t5 zoo/t6 zoo/zebra",
		"nothing known":  "",
	} {
		if got := search(&index, query, Options{Limit: 100}); got != want {
			t.Errorf("%s:\n got %s\nwant %s", query, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	index := indexOf("one: get_a get_b get_c get_d get_e get_f get_g", "Two-x: get_a get_h")
	for _, c := range []struct {
		opt   Options
		want  string
		total int
	}{
		{Options{}, "Two-x/get_a Two-x/get_h one/get_a one/get_b one/get_c", 9},
		{Options{Limit: -3}, "Two-x/get_a Two-x/get_h one/get_a one/get_b one/get_c", 9},
		{Options{Limit: 1}, "Two-x/get_a", 9},
		{Options{Server: "two_X"}, "Two-x/get_a Two-x/get_h", 2},
		{Options{Server: "three"}, "", 0},
		{Options{Keep: func(server, tool string) bool { return server == "one" && tool > "get_e" }}, "one/get_f one/get_g", 2},
	} {
		hits, total := index.Search("getting things", c.opt)
		var got []string
		for _, h := range hits {
			got = append(got, h.Server+"/"+h.Tool)
		}
		if strings.Join(got, " ") != c.want || total != c.total {
			t.Errorf("%+v: %v of %d, want %s of %d", c.opt, got, total, c.want, c.total)
		}
	}
	if got := search(index, "one/get_a", Options{Keep: func(server, _ string) bool { return server != "one" }, Limit: 1}); got == "one/get_a" {
		t.Error("its name leads to a tool that is not kept")
	}
	// A tool that is not kept is as good as none: its name does not end a search.
	hidden := Options{Keep: func(_, tool string) bool { return tool != "get_h" }, Limit: 1}
	for _, query := range []string{"get_h, Two-x/get_h", "get_h", "what does get_h do"} {
		if got, want := search(index, query, hidden), search(index, strings.ReplaceAll(query, "_h", "_zz"), hidden); got != want {
			t.Errorf("%q: %q, for a name that is none %q", query, got, want)
		}
	}
	if got := search(index, "  ", Options{Server: "Two-x"}); got != "Two-x/get_a Two-x/get_h" {
		t.Errorf("a query without words: %q", got)
	}
	if got := search(index, "  ", Options{}); got != "" {
		t.Errorf("a query without words found %q", got)
	}
	// Nothing but stop words: then they are what is asked for.
	index.Put(Server{Name: "who", Tools: []Tool{{Name: "x", Description: "tells who you are"}}})
	if got := search(index, "who are you", Options{}); got != "who/x" {
		t.Errorf("stop words alone: %q", got)
	}
}

// However servers were put, replaced and removed, what is found is what an index
// made at once finds.
func TestReplacing(t *testing.T) {
	server := func(r *rand.Rand, n int) Server {
		words := strings.Fields("create delete list issue file mail order invoice page GitHub 天气 查询 report customer table")
		pick := func() string { return words[r.IntN(len(words))] }
		s := Server{Name: fmt.Sprintf("s%d", n), Description: pick()}
		for i := range 1 + r.IntN(20) {
			s.Tools = append(s.Tools, Tool{
				Name: fmt.Sprintf("%s_%s_%d", pick(), pick(), i), Description: pick() + " " + pick() + " " + pick(),
				InputSchema: []byte(`{"properties":{"` + pick() + `":{"description":"` + pick() + `"}}}`),
			})
		}
		return s
	}
	r := rand.New(rand.NewPCG(1, 2))
	var index Index
	last := map[string]Server{}
	for range 200 {
		s := server(r, r.IntN(8))
		if r.IntN(4) == 0 {
			index.Remove(s.Name)
			delete(last, s.Name)
			continue
		}
		index.Put(s)
		last[s.Name] = s
	}
	var fresh Index
	for _, s := range last { // in any order
		fresh.Put(s)
	}
	for _, query := range []string{"create an issue", "天气 report", "list GitHub files", "invoces of s3", "delete_file_2, create_issue_1", "git"} {
		for _, opt := range []Options{{Limit: 1000}, {Limit: 3}, {Server: "s4"}} {
			got, n := index.Search(query, opt)
			want, m := fresh.Search(query, opt)
			if !reflect.DeepEqual(got, want) || n != m {
				t.Errorf("%q %+v:\n got %v\nwant %v", query, opt, got, want)
			}
		}
	}
}

// Queries while servers are put: no race, and each sees a server whole, as it was
// before or as it is after.
func TestSnapshots(t *testing.T) {
	var index Index
	index.Put(Server{Name: "fixed", Tools: []Tool{{Name: "word"}}})
	before := index.Snapshot()
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 100 {
				s := Server{Name: fmt.Sprintf("moving%d", w)}
				for n := range 1 + i%7 {
					s.Tools = append(s.Tools, Tool{Name: fmt.Sprintf("word_%d", n), Description: fmt.Sprintf("of %d words", 1+i%7)})
				}
				index.Put(s)
				if i%10 == 9 {
					index.Remove(s.Name)
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := index.Snapshot()
				hits, total := s.Search("words", Options{Limit: 100})
				if total != s.Len() || len(hits) != total {
					t.Errorf("%d hits, total %d, of %d tools", len(hits), total, s.Len())
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if hits, total := before.Search("words", Options{}); total != 1 || hits[0].Tool != "word" {
		t.Errorf("a snapshot has changed: %v of %d", hits, total)
	}
	if hits, _ := index.Search("words", Options{}); len(hits) != 1 {
		t.Errorf("%v, want the fixed server's alone", hits)
	}
}
