package typed

import (
	"encoding/json"
	"testing"
)

func TestUnescapeHTML(t *testing.T) {
	for _, text := range []string{`<>&`, `\u003c`, `\\<\`, `"<"`, "\n<", `\`, ``} {
		escaped, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := unescapeHTML(escaped); string(got) != string(want) {
			t.Errorf("%s became %s, want %s", escaped, got, want)
		}
	}
}
