package tools

import (
	"fmt"
	"strings"

	"github.com/collet-dev/collet/plugins/context7/internal/library"
)

// lookupText is the answer for a model: what it is of, what is not as asked for,
// then the documentation.
func lookupText(a Lookup) string {
	var b strings.Builder
	title := a.LibraryID
	if a.Library != nil && a.Library.Title != "" {
		title = a.Library.Title + " (" + a.LibraryID + ")"
	}
	fmt.Fprintf(&b, "# %s\n", title)
	for _, note := range a.Notes {
		fmt.Fprintf(&b, "\nNote: %s.\n", note)
	}
	if len(a.Alternatives) > 0 {
		fmt.Fprintf(&b, "\nOther libraries that match: %s\n", strings.Join(a.Alternatives, ", "))
	}
	if !a.Available {
		fmt.Fprintf(&b, "\nThe library was found, but its documentation could not be read: %s.\n", strings.TrimRight(a.Reason, "."))
		if a.RetryAfterSeconds > 0 {
			fmt.Fprintf(&b, "It can be asked for again in %d seconds.\n", a.RetryAfterSeconds)
		}
		return b.String()
	}
	for _, c := range a.Code {
		section(&b, c.Title, c.Source, c.Description)
		fence := fenceFor(c.Code)
		fmt.Fprintf(&b, "\n%s%s\n%s\n%s\n", fence, strings.ToLower(c.Language), strings.TrimRight(c.Code, "\n"), fence)
	}
	for _, i := range a.Info {
		section(&b, i.Breadcrumb, i.Source, i.Content)
	}
	if a.Text != "" {
		b.WriteString("\n" + a.Text + "\n")
	}
	return b.String()
}

func section(b *strings.Builder, title, source, body string) {
	if title != "" {
		fmt.Fprintf(b, "\n## %s\n", title)
	}
	if source != "" {
		fmt.Fprintf(b, "\nSource: %s\n", source)
	}
	if body != "" {
		fmt.Fprintf(b, "\n%s\n", body)
	}
}

// fenceFor is a fence that the code itself does not close.
func fenceFor(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence
}

// librariesText says what was found the way Context7's own server does: prompts
// and skills in the field read it.
func librariesText(found library.Found) string {
	if len(found.Libraries) == 0 {
		return "No libraries found matching the provided name."
	}
	var b strings.Builder
	b.WriteString("Available Libraries:\n\n")
	if found.Filtered {
		b.WriteString("**Note:** Your results only include libraries that your teamspace's filters allow, see https://context7.com/dashboard?tab=policies\n\n")
	}
	for i, l := range found.Libraries {
		if i > 0 {
			b.WriteString("\n----------\n")
		}
		fmt.Fprintf(&b, "- Title: %s\n- Context7-compatible library ID: %s\n- Description: %s", l.Title, l.ID, l.Description)
		if l.Snippets > 0 {
			fmt.Fprintf(&b, "\n- Code Snippets: %d", l.Snippets)
		}
		fmt.Fprintf(&b, "\n- Source Reputation: %s", reputation(l.Trust))
		if l.Benchmark > 0 {
			fmt.Fprintf(&b, "\n- Benchmark Score: %v", l.Benchmark)
		}
		if len(l.Versions) > 0 {
			fmt.Fprintf(&b, "\n- Versions: %s", strings.Join(l.Versions, ", "))
		}
	}
	return b.String()
}

func reputation(trust float64) string {
	switch {
	case trust >= 7:
		return "High"
	case trust >= 4:
		return "Medium"
	case trust > 0:
		return "Low"
	default:
		return "Unknown"
	}
}
