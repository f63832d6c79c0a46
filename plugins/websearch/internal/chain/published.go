package chain

import (
	"strconv"
	"strings"
	"time"
)

// layouts are the forms of a date that the services are known to send.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly,
	time.RFC1123, time.RFC1123Z, "Jan 2, 2006", "January 2, 2006", "2 Jan 2006",
}

// published reads a date, or an age such as "3 days ago" seen from now.
func published(s string, now time.Time) (time.Time, bool) {
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			return t, t.Year() > 1900 && t.Year() < 2200
		}
	}
	words := strings.Fields(strings.ToLower(s))
	if len(words) != 3 || words[2] != "ago" {
		return time.Time{}, false
	}
	n, err := strconv.ParseUint(words[0], 10, 8)
	if words[0] == "a" || words[0] == "an" {
		n, err = 1, nil
	}
	if err != nil {
		return time.Time{}, false
	}
	switch ago := -int(n); strings.TrimSuffix(words[1], "s") {
	case "minute", "min":
		return now.Add(time.Duration(ago) * time.Minute), true
	case "hour":
		return now.Add(time.Duration(ago) * time.Hour), true
	case "day":
		return now.AddDate(0, 0, ago), true
	case "week":
		return now.AddDate(0, 0, 7*ago), true
	case "month":
		return now.AddDate(0, ago, 0), true
	case "year":
		return now.AddDate(ago, 0, 0), true
	}
	return time.Time{}, false
}
