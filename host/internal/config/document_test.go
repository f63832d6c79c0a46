package config

import (
	"slices"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	got, err := JSON([]byte("\xef\xbb\xbfz = 1_000\na = 1.50\n[t.\"x.y\"]\nd = 1979-05-27 07:32:00Z\ns = '\\'\n[[l]]\nb = true\n"))
	want := `{"z":1000,"a":1.50,"t":{"x.y":{"d":"1979-05-27T07:32:00Z","s":"\\"}},"l":[{"b":true}]}`
	if err != nil || string(got) != want {
		t.Errorf("JSON is %s, %v, want %s", got, err, want)
	}
	for text, want := range map[string]string{
		"a = 1\nb = ":                      "is not TOML at line 2, column 4: ",
		"\n\na = inf":                      "line 3: a: inf and nan",
		"a = " + strings.Repeat("[", 1000): "line 1: keys are nested too deep",
		"\xff\xfea":                        "is UTF-16 text; save it as UTF-8",
	} {
		if _, err := JSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "skipped") {
			t.Errorf("%.20q: error is %v, want %q in it", text, err, want)
		}
	}
}

func TestStatements(t *testing.T) {
	text := "\xef\xbb\xbfa.\"b c\" = 1 # x\r\n[ t . u ] # y\nk = [\n 1, # z\n] \n[[v]]\n'w' = \"\"\"\nq = 1\n\"\"\"\nx = {a = 1, b = 2}"
	list, err := Statements([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		value := ""
		if !s.Header {
			value = "|" + text[s.Value:s.End]
		}
		got = append(got, strings.Join(s.Path, "/")+"|"+text[s.Start:s.End]+value)
	}
	want := []string{
		"a/b c|a.\"b c\" = 1|1",
		"t/u|[ t . u ]",
		"t/u/k|k = [\n 1, # z\n]|[\n 1, # z\n]",
		"v|[[v]]",
		"v/w|'w' = \"\"\"\nq = 1\n\"\"\"|\"\"\"\nq = 1\n\"\"\"",
		"v/x|x = {a = 1, b = 2}|{a = 1, b = 2}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range []string{"a", "[a", "a = ", "\xff\xfea\x00"} {
		if list, err := Statements([]byte(bad)); err == nil {
			t.Errorf("%q has statements %v", bad, list)
		}
	}
}
