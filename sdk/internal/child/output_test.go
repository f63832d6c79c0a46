package child

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
)

// The host reads hclog's members, and an author's attributes of the same names as
// slog's stay what they are.
func TestNewLogger(t *testing.T) {
	var b bytes.Buffer
	log := NewLogger(&b, "p")
	log.Debug("one", "level", 7, "time", "noon")
	log.Log(t.Context(), slog.LevelDebug-4, "below what is written")
	log.Error("two")
	var levels []string
	for line := range bytes.Lines(b.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if m["@module"] != "p" || m["@timestamp"] == nil || m["@message"] == nil {
			t.Errorf("%s", line)
		}
		levels = append(levels, m["@level"].(string))
	}
	if len(levels) != 2 || levels[0] != "debug" || levels[1] != "error" {
		t.Errorf("%v in %s", levels, b.Bytes())
	}
	if !bytes.Contains(b.Bytes(), []byte(`"level":7`)) || !bytes.Contains(b.Bytes(), []byte(`"time":"noon"`)) {
		t.Errorf("attributes are lost: %s", b.Bytes())
	}
}
