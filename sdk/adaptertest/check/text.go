package check

import (
	"fmt"
	"strings"
	"time"
)

// String is the outcome as lines for a person: the check, what became of it, and
// where it matters why, and what to do.
func (o Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%2d %-16s %-8s %s", o.Number, o.Name, o.Status, o.Title)
	if o.Duration >= time.Second {
		fmt.Fprintf(&b, " (%s)", o.Duration.Round(100*time.Millisecond))
	}
	for _, part := range []struct{ label, text string }{{"why", o.Why}, {"do", o.Advice}} {
		if part.text == "" {
			continue
		}
		if part.label == "why" && o.Status == Passed {
			part.label = "but"
		}
		fmt.Fprintf(&b, "\n   %-16s %-8s %s", "", part.label+":", strings.ReplaceAll(part.text, "\n", "\n"+strings.Repeat(" ", 29)))
	}
	return b.String()
}

// Summary is the report in one line.
func (r *Report) Summary() string {
	name := strings.TrimSpace(r.Name + " " + r.Version)
	if name == "" {
		name = r.Path
	}
	verdict := "keeps the contract"
	switch {
	case !r.OK():
		verdict = "breaks the contract"
	case r.Count(Passed) == 0:
		verdict = "was not tried"
	}
	return fmt.Sprintf("%s %s: %d passed, %d failed, %d skipped", name, verdict, r.Count(Passed), r.Count(Failed), r.Count(Skipped))
}
