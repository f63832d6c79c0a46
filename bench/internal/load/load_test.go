package load

import (
	"encoding/json"
	"testing"
)

func TestResult(t *testing.T) {
	for _, size := range []int{100, 101, 64 << 10, 1 << 20} {
		b := Result(size)
		if len(b) != size || !json.Valid(b) {
			t.Errorf("a result of %d bytes has %d, valid JSON: %v", size, len(b), json.Valid(b))
		}
	}
	if !json.Valid(Echo) || !json.Valid(Blob(1<<20)) {
		t.Error("the arguments are not valid JSON")
	}
}
