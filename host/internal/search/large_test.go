package search

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// catalogOf makes n tools on servers of 100, the same each time: names of two or
// three words, descriptions of about 45, four parameters with descriptions. Words
// are as unevenly common as those of a language, and there are 8,000 of them.
func catalogOf(n int) []Server {
	r := rand.New(rand.NewPCG(7, 7))
	var known []string
	for _, text := range []string{synonymText, stopText[:strings.IndexRune(stopText, '的')]} {
		known = append(known, strings.Fields(text)...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	r.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	syllables := strings.Fields("ba con de er fi gro hel in jo ka lu men nor op pra qui re sta tion ul ver wa xi yo zen")
	for len(known) < 8000 {
		known = append(known, syllables[r.IntN(25)]+syllables[r.IntN(25)]+syllables[r.IntN(25)]+syllables[r.IntN(25)])
	}
	zipf := rand.NewZipf(r, 1.1, 8, uint64(len(known)-1))
	words := func(n int) []string {
		w := make([]string, n)
		for i := range w {
			w[i] = known[zipf.Uint64()]
		}
		return w
	}
	var servers []Server
	for i := 0; len(servers)*100 < n; i++ {
		s := Server{Name: fmt.Sprintf("%s-%d", words(1)[0], i), Description: strings.Join(words(10), " "), Instructions: strings.Join(words(60), " ")}
		for j := range min(100, n-i*100) {
			properties := map[string]any{}
			for range 4 {
				properties[strings.Join(words(2), "_")] = map[string]any{"type": "string", "description": strings.Join(words(8), " ")}
			}
			schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
			if err != nil {
				panic(err)
			}
			s.Tools = append(s.Tools, Tool{
				Name:        fmt.Sprintf("%s_%d", strings.Join(words(2+r.IntN(2)), "_"), j),
				Description: strings.Join(words(20+r.IntN(50)), " ") + ".",
				InputSchema: schema,
			})
		}
		servers = append(servers, s)
	}
	return servers
}

func build(servers []Server) *Index {
	index := new(Index)
	for _, s := range servers {
		index.Put(s)
	}
	return index
}

// heap returns the bytes that are in use.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what pools and finalizers still held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// An index of ten thousand tools is smaller than 10 MB, and a query does not
// allocate by the number of tools it looks at, only by that of words.
func TestMemory(t *testing.T) {
	servers := catalogOf(10_000)
	before := heap()
	index := build(servers)
	if mb := (heap() - before) / 1e6; mb > 10 {
		t.Errorf("the index takes %.1f MB, want at most 10", mb)
	} else {
		t.Logf("the index takes %.1f MB", mb)
	}
	if n := index.Snapshot().Len(); n != 10_000 {
		t.Fatalf("%d tools", n)
	}
	const most = 1500
	if n := testing.AllocsPerRun(20, func() { index.Search("create a new calendar event and send mail to customers", Options{}) }); n > most {
		t.Errorf("%.0f allocations a query, want at most %d", n, most)
	} else {
		t.Logf("%.0f allocations a query", n)
	}
	runtime.KeepAlive(servers)
}

// What one tool adds is bounded, whatever its server writes.
func TestHugeTool(t *testing.T) {
	distinct := func(bytes int) string {
		var b strings.Builder
		for i := 0; b.Len() < bytes; i++ {
			fmt.Fprintf(&b, "w%dx ", i)
		}
		return b.String()
	}
	var parameters []string
	for i := range 10_000 {
		parameters = append(parameters, fmt.Sprintf(`"parameter%d":{"description":"%s"}`, i, distinct(20)))
	}
	huge := distinct(1 << 20)
	s := Server{Name: "huge", Description: huge, Instructions: huge, Tools: []Tool{
		{Name: "long_" + strings.ReplaceAll(huge, " ", "_"), Wire: huge, Title: huge, Description: huge},
		{Name: "wide", InputSchema: json.RawMessage(`{"properties":{` + strings.Join(parameters[:5000], ",") + `}}`)},
		{Name: "wider", InputSchema: json.RawMessage(`{"properties":{` + strings.Join(parameters, ",") + `}}`)},
		{Name: "spaceless", Description: strings.Repeat("x", 1<<20)},
		{Name: "characters", Description: strings.Repeat("天地玄黄宇宙洪荒", 1<<17)},
		{Name: "marks", Description: "e" + strings.Repeat("\u0301", 1<<20)},
		{Name: "expanding", Description: strings.Repeat("\ufdfa", 1<<19)}, // one becomes eighteen
	}}
	index := build([]Server{s})
	sh := index.Snapshot().shards[0]
	if n := sh.words.len() + sh.about.len(); n > 20_000 {
		t.Errorf("%d different words were kept", n)
	}
	if n := len(sh.postings) + len(sh.words.text) + len(sh.about.text); n > 400<<10 {
		t.Errorf("the index has %d bytes", n)
	}
	if got := search(index, "w5x w6x", Options{Limit: 1}); !strings.HasPrefix(got, "huge/long_") {
		t.Errorf("the beginning of a long text is not found: %.40q", got)
	}
	for _, query := range []string{huge, strings.Repeat("a,", 1<<20), strings.Repeat("天气", 1<<19), strings.Repeat("`", 1<<20), strings.Repeat("x-", 1<<20), strings.Repeat("aB", 1<<20)} {
		if words := parse(cut(query, maxQuery)); len(words) > maxQueryWords {
			t.Errorf("%d words are asked for", len(words))
		}
		if m := mentions(cut(query, maxQuery)); len(m) > maxQueryWords {
			t.Errorf("%d names are looked for", len(m))
		}
		index.Search(query, Options{})
	}
}

// A query of nothing but words that have many others beside them looks up no more
// than it may.
func TestLookupsAreBounded(t *testing.T) {
	index := build([]Server{{Name: "all", Tools: []Tool{{Name: "x", Description: synonymText}}}})
	lookups := 0
	for _, c := range index.Snapshot().view(Options{}).concepts(parse(synonymText)) {
		lookups += len(c.alternatives)
	}
	if most := maxQueryWords*3 + maxSynonyms; lookups > most || lookups <= maxSynonyms {
		t.Errorf("%d lookups, want more than %d and at most %d", lookups, maxSynonyms, most)
	}
}

// A field of more words than a counter holds does not begin at nothing again.
func TestCountersAreFull(t *testing.T) {
	var index Index
	index.Put(Server{Name: "s", Tools: []Tool{{Name: "often", Description: strings.Repeat("word ", 256)}, {Name: "never"}}})
	if got := search(&index, "word", Options{}); got != "s/often" {
		t.Errorf("%q", got)
	}
}

var sizes = []int{1000, 10_000}

func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			servers := catalogOf(n)
			before := heap()
			index := build(servers)
			size := heap() - before
			runtime.KeepAlive(index)
			for b.Loop() {
				build(servers)
			}
			b.ReportMetric(size/1e6, "MB")
		})
	}
}

// One server of a hundred tools changes among ten thousand.
func BenchmarkReplace(b *testing.B) {
	servers := catalogOf(10_000)
	index := build(servers)
	for b.Loop() {
		index.Put(servers[50])
	}
}

// The project's questions asked of its tools among others: how many are answered,
// and how long that takes.
func BenchmarkSearch(b *testing.B) {
	_, questions := ownSet(b)
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			index, _ := ownSet(b)
			for _, s := range catalogOf(n) {
				index.Put(s)
			}
			s := index.Snapshot()
			q := evaluate(s, questions, nil)
			var took []time.Duration
			for b.Loop() {
				for _, q := range questions {
					start := time.Now()
					s.Search(q.Text, Options{})
					took = append(took, time.Since(start))
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(q.first, "R@1")
			b.ReportMetric(q.five, "R@5")
			b.ReportMetric(q.ten, "R@10")
			b.ReportMetric(q.reciprocal, "MRR")
			b.ReportMetric(0, "ns/op")
		})
	}
}
