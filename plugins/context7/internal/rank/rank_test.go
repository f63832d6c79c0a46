package rank

import (
	"testing"

	"github.com/collet-dev/collet/plugins/context7/internal/library"
)

func TestOrder(t *testing.T) {
	lib := func(id, title string) library.Library {
		return library.Library{ID: id, Title: title, State: library.Finalized}
	}
	with := func(l library.Library, f func(*library.Library)) library.Library { f(&l); return l }
	for name, c := range map[string]struct {
		found         []library.Library
		name, version string
		want          string
	}{
		"the very name before one that contains it": {
			[]library.Library{with(lib("/a/native", "React Native"), func(l *library.Library) { l.Trust, l.Benchmark = 10, 99 }), lib("/facebook/react", "React")},
			"react", "", "/facebook/react"},
		"spelling does not matter": {
			[]library.Library{lib("/a/x", "Next Auth"), lib("/vercel/next.js", "Next.js")}, "nextjs", "", "/vercel/next.js"},
		"but C is not C++": {
			[]library.Library{lib("/a/c", "C"), lib("/a/cpp", "C++")}, "c++", "", "/a/cpp"},
		"the repository's name": {
			[]library.Library{lib("/a/b", "Something"), lib("/tokio-rs/axum", "The Web Framework")}, "axum", "", "/tokio-rs/axum"},
		"one that can be read": {
			[]library.Library{with(lib("/a/zod", "Zod"), func(l *library.Library) { l.State, l.Trust = "initial", 10 }), lib("/b/zod", "Zod")}, "zod", "", "/b/zod"},
		"one that has the version": {
			[]library.Library{with(lib("/a/vue", "Vue"), func(l *library.Library) { l.Trust = 10 }), with(lib("/b/vue", "Vue"), func(l *library.Library) { l.Versions = []string{"v2.7.1"} })},
			"vue", "2", "/b/vue"},
		"trust before benchmark": {
			[]library.Library{with(lib("/a/x", "X"), func(l *library.Library) { l.Trust, l.Benchmark = 3, 99 }), with(lib("/b/x", "X"), func(l *library.Library) { l.Trust = 7.1 })},
			"x", "", "/b/x"},
		"benchmark before snippets": {
			[]library.Library{with(lib("/a/x", "X"), func(l *library.Library) { l.Snippets = 999 }), with(lib("/b/x", "X"), func(l *library.Library) { l.Benchmark = 50 })},
			"x", "", "/b/x"},
		"the source's order at last": {
			[]library.Library{lib("/b/x", "X"), lib("/a/x", "X")}, "x", "", "/b/x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Order(c.found, c.name, c.version)[0].ID; got != c.want {
				t.Errorf("%s first, want %s", got, c.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	versions := []string{"v14.3.0-canary.87", "v15.1.8", "v15.2.0-rc.1", "v15.10.0", "v9.5.0", "15.2.0", "__branch__13-x"}
	for want, expected := range map[string]string{
		"15":               "v15.10.0",
		"v15":              "v15.10.0",
		"15.1":             "v15.1.8",
		"15.1.8":           "v15.1.8",
		"v15.1.8":          "v15.1.8",
		"15.2":             "15.2.0",
		"9":                "v9.5.0",
		"14":               "v14.3.0-canary.87",
		"14.3.0-canary.87": "v14.3.0-canary.87",
		"1":                "",
		"15.1.9":           "",
		"":                 "",
		"..":               "",
	} {
		if got := Version(versions, want); got != expected {
			t.Errorf("%q is %q, want %q", want, got, expected)
		}
	}
}
