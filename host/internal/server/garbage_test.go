package server

import "testing"

// Results count up to the next collection, and one alone is no reason for any.
func TestGarbage(t *testing.T) {
	const half = collectAfter / 2
	var g garbage
	for i, c := range []struct {
		bytes, cycles uint64
		due           bool
	}{
		{10 * collectAfter, 0, false}, // nothing was received before
		{half, 0, true},
		{half, 0, false},
		{1, 0, true},
		{half, 1, false}, // the collection that was asked for
		{half, 1, false},
		{half, 2, false}, // one that came by itself
		{half, 2, false},
		{half, 2, true},
	} {
		if got := g.due(c.bytes, c.cycles); got != c.due {
			t.Errorf("result %d: due is %v", i, got)
		}
	}
	received.expect(1) // knows the name of what it reads: of another, Value would panic
}
