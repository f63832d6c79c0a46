package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// limits are the allowed durations of a key, as the message spells them.
type limits struct {
	least, most time.Duration
	text        string
}

// Limits of docs/configuration.md; the ones it leaves open catch a forgotten or a
// mistaken unit ("30ms", "300h").
var (
	timeoutLimits     = limits{time.Second, 600 * time.Second, "1s to 600s"}
	maxTimeoutLimits  = limits{time.Second, time.Hour, "1s to 1h"}
	startLimits       = limits{time.Second, time.Hour, "1s to 1h"} // a first npx or docker pull takes minutes
	idleLimits        = limits{time.Second, 30 * 24 * time.Hour, "1s to 720h"}
	daemonIdleLimits  = limits{time.Second, 24 * time.Hour, "1s to 24h"}
	connectWaitLimits = limits{0, 600 * time.Second, "0s to 600s"}
)

// duration is a Go duration in a string. An integer is refused: whether 30 is
// seconds or milliseconds is a guess. It is not ok when not said or faulty.
func (t *table) duration(key string, lim limits) (d time.Duration, ok bool) {
	v, said := t.values[key]
	if !said {
		return 0, false
	}
	switch v := v.(type) {
	case int64:
		t.wrongType(key, "a duration", fmt.Sprintf(`write "%ds"`, v))
	case string:
		d, err := time.ParseDuration(v)
		switch {
		case err != nil && isDigits(v):
			t.fault(key, `%s has no unit; write "%ss"`, quote(v), v)
		case err != nil:
			t.fault(key, `%s is not a duration; write a number and a unit, such as "30s" or "2m"`, quote(v))
		case d < lim.least || d > lim.most:
			t.fault(key, "%s is out of range; allowed are %s", quote(v), lim.text)
		default:
			return d, true
		}
	default:
		t.wrongType(key, "a duration", `write it in quotes, such as "30s"`)
	}
	return 0, false
}

// sizes are the allowed sizes of a key in bytes, as the message spells them.
type sizes struct {
	least, most int64
	text        string
}

// budgetLimits: room for the message that stands in for a result, and what a message
// between host and adapter may hold.
var budgetLimits = sizes{1 << 10, 64 << 20, "1KiB to 64MiB"}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// size is a whole number of bytes with a unit in a string: "256KiB".
func (t *table) size(key string, unsaid int64, lim sizes) int64 {
	v, ok := t.values[key]
	if !ok {
		return unsaid
	}
	s, ok := v.(string)
	if !ok {
		t.wrongType(key, "a size", `write a number and a unit in quotes, such as "256KiB"`)
		return unsaid
	}
	n, ok := parseSize(s)
	switch {
	case !ok:
		t.fault(key, `%s is not a size; write a whole number and B, KiB or MiB, such as "256KiB"`, quote(s))
		return unsaid
	case n < lim.least || n > lim.most:
		t.fault(key, "%s is out of range; allowed are %s", quote(s), lim.text)
		return unsaid
	}
	return n
}

// sizePattern is what parseSize takes.
const sizePattern = `^[0-9]+[ \t]*([KMG]i)?B$`

// parseSize reads "256KiB" or "256 KiB". What does not fit is very large.
func parseSize(s string) (int64, bool) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		number = strings.TrimSpace(number)
		if !isDigits(number) {
			return 0, false
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n > math.MaxInt64/u.bytes {
			return math.MaxInt64, true
		}
		return n * u.bytes, true
	}
	return 0, false
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
