package versioned

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	type document struct {
		Version int    `json:"version"`
		Name    string `json:"name"`
	}
	var doc document
	if err := Read([]byte(`{"name":"x","version":2}`), 2, &doc); err != nil || doc.Name != "x" {
		t.Errorf("%+v, %v", doc, err)
	}
	for text, want := range map[string]string{
		``:                           "it is damaged: ",
		`[]`:                         "it is damaged: ",
		`{"version":2`:               "it is damaged: ",
		`{"name":"x"}`:               "it is damaged: it has no version",
		`{"version":"2"}`:            "it is damaged: ",
		`{"version":3,"other":{}}`:   "it has version 3, and this collet knows version 2: a newer collet wrote it",
		`{"version":1}`:              "it has version 1, and this collet knows version 2",
		`{"version":2,"other":true}`: `it is damaged: json: unknown field "other"`,
		`{"version":2,"name":7}`:     "it is damaged: ",
		`{"version":2} {}`:           "it is damaged: ",
	} {
		if err := Read([]byte(text), 2, new(document)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
