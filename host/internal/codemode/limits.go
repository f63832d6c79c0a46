package codemode

import (
	"cmp"
	"time"
)

// Limits are what one script may use. Zero is the default, and what is beyond the
// hard maximum counts as that.
type Limits struct {
	Timeout  time.Duration // of the whole script, without the waits for a person: 120 s, at most 600 s
	CPU      time.Duration // of its process: 10 s, at most 60 s
	Heap     int64         // bytes of the engine: 64 MiB, at most 256 MiB
	Calls    int           // 1000
	InFlight int           // calls at once: 16, at most 128
}

// What no script may exceed and nothing configures.
const (
	MaxSource     = 128 << 10 // bytes of a source
	MaxArguments  = 1 << 20   // bytes of the arguments of one call, and of args
	MaxResult     = 16 << 20  // bytes of one result
	MaxOutput     = 1 << 20   // bytes of all output
	MaxItems      = 2000      // pieces of output
	MaxConsole    = 64 << 10  // bytes of the console
	MaxStored     = 256 << 10 // bytes of one stored value
	MaxStoredAll  = 1 << 20   // bytes of all stored keys and values
	maxUnread     = MaxResult // bytes of results that the script has not taken yet; see room, and next
	maxRefusal    = 256 << 10 // bytes of an error's details
	maxRecorded   = 4 << 10   // bytes of an error's message in the record of its call
	minimumLimits = 100 * time.Millisecond
)

func (l Limits) filled() Limits {
	return Limits{
		Timeout:  min(max(cmp.Or(l.Timeout, 120*time.Second), minimumLimits), 600*time.Second),
		CPU:      min(max(cmp.Or(l.CPU, 10*time.Second), time.Second), 60*time.Second),
		Heap:     min(max(cmp.Or(l.Heap, 64<<20), 8<<20), 256<<20),
		Calls:    min(max(cmp.Or(l.Calls, 1000), 1), 1000),
		InFlight: min(max(cmp.Or(l.InFlight, 16), 1), 128),
	}
}
