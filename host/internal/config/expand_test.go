package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

var testVars = map[string]string{
	"X": "ex", "EMPTY": "", "USER": "root", "HAS_DOLLAR": "a$HOME${X}$$b", "HAS_TILDE": "~/x", "HAS_BANG": "!id", "_u1": "under",
}

func testLookup(name string) (string, bool) {
	v, ok := testVars[name]
	return v, ok
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		text, want string
		unset      []string
		err        error
	}{
		{text: "", want: ""},
		{text: "plain } text", want: "plain } text"},
		{text: "a$$b", want: "a$b"},
		{text: "$$$$", want: "$$"},
		{text: "$$X", want: "$X"},
		{text: "$$$X", want: "$ex"},
		{text: "$${X}", want: "${X}"},
		{text: "$", want: "$"},
		{text: "uhQ$Q$", want: "uhQ$", unset: []string{"Q"}},
		{text: "uhQ$$Q$", want: "uhQ$Q$"},
		{text: "$1", want: "$1"},
		{text: "a $ b $- $é", want: "a $ b $- $é"},
		{text: "${X}y", want: "exy"},
		{text: "$Xy", unset: []string{"Xy"}},
		{text: "$X-y $X.", want: "ex-y ex."},
		{text: "$_u1", want: "under"},
		{text: "S3cret$USER!", want: "S3cretroot!"},
		{text: "S3cret$$USER!", want: "S3cret$USER!"},
		{text: "$HAS_DOLLAR", want: "a$HOME${X}$$b"},
		{text: "${HAS_DOLLAR:-x}", want: "a$HOME${X}$$b"},
		{text: "$HAS_TILDE", want: "~/x"},
		{text: "[$EMPTY]", want: "[]"},
		{text: "[${EMPTY}]", want: "[]"},
		{text: "${EMPTY:-d}", want: "d"},
		{text: "${NO:-d}", want: "d"},
		{text: "${NO:-}", want: ""},
		{text: "${X:-d}", want: "ex"},
		{text: "${X:-$NO}", want: "ex"}, // a default that is not used needs no variables
		{text: "${NO:-$NO2}", unset: []string{"NO2"}},
		{text: "${NO:-${NO2:-${X}}-$$}!", want: "ex-$!"},
		{text: "${NO:-{a}}", want: "{a}"},
		{text: "${NO:-a:-b}", want: "a:-b"},
		{text: "${NO:-~/d}", want: "/home/me/d"},
		{text: "${NO:-~}", want: "/home/me"},
		{text: "$NO $NO $NO2", unset: []string{"NO", "NO2"}, want: "  "},
		{text: "~", want: "/home/me"},
		{text: "~/a b", want: "/home/me/a b"},
		{text: "~/$X", want: "/home/me/ex"},
		{text: "~me/x", want: "~me/x"},
		{text: "a/~/x ~", want: "a/~/x ~"},
		{text: "--dir=~/x", want: "--dir=~/x"},
		{text: "!id", want: "!id"},
		{text: "${", err: errUnfinished},
		{text: "${}", err: errUnfinished},
		{text: "${X", err: errUnfinished},
		{text: "${1}", err: errUnfinished},
		{text: "${X:?no}", err: errUnfinished},
		{text: "${X-d}", err: errUnfinished},
		{text: "${X:-d", err: errUnfinished},
		{text: "${NO:-${X}", err: errUnfinished},
		{text: "${ X }", err: errUnfinished},
		{text: strings.Repeat("${NO:-", 16) + strings.Repeat("}", 16), want: ""},
		{text: strings.Repeat("${NO:-", 17) + strings.Repeat("}", 17), err: errNesting},
		{text: strings.Repeat("${X:-", 100_000), err: errNesting},
	} {
		e := &expander{lookup: testLookup, home: "/home/me"}
		got, err := e.expand(c.text)
		if !errors.Is(err, c.err) || err == nil && got != c.want || !slices.Equal(e.unset, c.unset) {
			t.Errorf("expand(%.60q) = %q, %v, unset %q; want %q, %v, unset %q", c.text, got, err, e.unset, c.want, c.err, c.unset)
		}
	}
}

func TestExpandWithoutHome(t *testing.T) {
	for text, want := range map[string]error{"~": errNoHome, "~/x": errNoHome, "${NO:-~/x}": errNoHome, "${X:-~/x}": nil, "x~": nil, "~x": nil} {
		if _, err := (&expander{lookup: testLookup}).expand(text); !errors.Is(err, want) {
			t.Errorf("expand(%q): %v, want %v", text, err, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"a$$b", "${X:-${Y}}", "~/", "$X${EMPTY:-d}$1", "${", "$é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var asked []string
		e := &expander{home: "/h", lookup: func(n string) (string, bool) {
			asked = append(asked, n)
			return "", len(n)%2 == 0
		}}
		got, err := e.expand(text)
		if err == nil && !strings.ContainsAny(text, "$~") && got != text {
			t.Errorf("expand(%q) = %q", text, got)
		}
		for _, n := range asked {
			if n == "" || nameLength(n) != len(n) {
				t.Errorf("asked for %q in %q", n, text)
			}
		}
		// Doubling every $ says: as it is.
		plain := "x" + strings.ReplaceAll(text, "$", "$$")
		if got, err := e.expand(plain); err != nil || got != "x"+text {
			t.Errorf("expand(%q) = %q, %v", plain, got, err)
		}
	})
}
