package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// A line of the report begins with a mark, then a name; what belongs to it stands
// below its text.
const (
	markWidth  = 6  // "FAIL  "
	labelWidth = 10 // "upstream  "
)

// report writes a diagnosis for a person.
type report struct {
	streams *terminal.Streams
	out     strings.Builder
	indent  int // where texts begin
}

// printDiagnosis writes the report; all says that everything known is wanted, not
// only what is wrong.
func printDiagnosis(s *terminal.Streams, d *host.Diagnosis, all bool) error {
	r := &report{streams: s, indent: markWidth + len("collet")}
	for i := range d.Servers {
		r.indent = max(r.indent, markWidth+terminal.Columns(d.Servers[i].Name))
	}
	r.indent += 2
	r.host(&d.Host, all)
	for i := range d.Servers {
		r.server(&d.Servers[i], all)
	}
	r.line(summary(d))
	_, err := fmt.Fprint(s.Out, r.out.String())
	return err
}

func summary(d *host.Diagnosis) string {
	working, degraded, failed, off := 0, 0, 0, 0
	for i := range d.Servers {
		switch s := &d.Servers[i]; {
		case s.Worst().Fails():
			failed++
		case s.Worst() == host.KindDegraded:
			degraded++
		case s.State == "disabled":
			off++
		default:
			working++
		}
	}
	text := fmt.Sprintf("%d working, %d degraded, %d not working", working, degraded, failed)
	if off > 0 {
		text += fmt.Sprintf(", %d disabled", off)
	}
	return text
}

func (r *report) host(h *host.HostDiagnosis, all bool) {
	r.head(mark(h.Worst(), h.Findings), "collet", h.Version+", "+strings.Join(h.ConfigFiles, ", "))
	r.findings(h.Findings)
	for _, s := range h.Hooks {
		if s.Err == nil {
			r.detail("hook", fmt.Sprintf("%s: %s, asked at %s", s.Name, s.Plugin, strings.Join(s.Points, ", ")))
		}
		if s.Err != nil || all {
			r.detail("log", s.LogFile)
		}
	}
	if !all {
		return
	}
	r.detail("state", h.StateDir)
	r.detail("cache", h.CacheDir)
	r.detail("sockets", h.SocketDir)
	for _, dir := range h.PluginDirs {
		r.detail("plugins", dir)
	}
}

func (r *report) server(s *host.ServerDiagnosis, all bool) {
	fine := s.Worst() == host.KindNote
	switch {
	case s.State == "disabled":
		r.head("off", s.Name, "disabled"+at(s.File, s.Line))
		r.findings(s.Findings)
	case s.Listed || len(s.Findings) == 0:
		r.head(mark(s.Worst(), s.Findings), s.Name, headline(s))
		r.findings(s.Findings)
	default: // that it does not run says less than why
		r.head(mark(s.Worst(), s.Findings), s.Name, findingText(&s.Findings[0]))
		r.advice(&s.Findings[0])
		r.findings(s.Findings[1:])
	}
	if all {
		r.details(s)
	}
	if c := s.Command; c != nil && c.Missing != "" && filepath.Base(c.Missing) == c.Missing && !fine {
		r.detail("PATH", strings.Join(c.SearchPath, ", "))
		r.detail("also", strings.Join(c.Elsewhere, ", "))
	}
	if fine && !all {
		return
	}
	for i, line := range s.StderrTail {
		label := "stderr"
		if i > 0 {
			label = ""
		}
		r.cut(label, "| "+line)
	}
	if len(s.StderrTail) > 0 || all {
		r.detail("log", s.LogFile)
	}
}

// mark is the first word of a line.
func mark(worst host.Kind, findings []host.Finding) string {
	switch {
	case worst.Fails():
		return "FAIL"
	case worst == host.KindDegraded:
		return "warn"
	case len(findings) > 0:
		return "note"
	}
	return "ok"
}

// headline is how a server is, on one line.
func headline(s *host.ServerDiagnosis) string {
	parts := []string{s.State}
	if s.Listed {
		parts = append(parts, count(s.Tools, "tool"))
	}
	if s.Started > 0 {
		parts = append(parts, "started in "+s.Started.Round(10*time.Millisecond).String())
	}
	if u := s.Upstream; u != nil {
		if about := strings.TrimSpace(u.Name + " " + u.Version); about != "" {
			parts = append(parts, about)
		}
		if u.ProtocolVersion != "" {
			parts = append(parts, fmt.Sprintf("MCP %s (%s)", u.ProtocolVersion, u.Era))
		}
	}
	return strings.Join(parts, ", ")
}

// details are what is known of a server beside what is wrong.
func (r *report) details(s *host.ServerDiagnosis) {
	if s.Plugin.Name != "" {
		r.detail("plugin", strings.TrimSpace(s.Plugin.Name+" "+s.Plugin.Version)+" "+s.Plugin.Path)
	}
	for _, v := range s.Values {
		text := strings.TrimPrefix(v.Key, "servers."+s.Name+".") + " is what a command prints"
		if !v.Command {
			text = strings.TrimSuffix(text, " is what a command prints") + " from " + variables(v.Variables)
		}
		r.detail("value", text)
	}
	if c := s.Command; c != nil && c.Path != "" {
		text := c.Path
		if c.Interpreter != "" {
			text += ", a script for " + c.Interpreter
		}
		r.detail("command", text)
	}
	for _, u := range s.Unchecked {
		r.detail("unchecked", u.Tool+", "+u.Schema+": "+u.Reason)
	}
	for _, w := range s.WireNames {
		r.detail("wire name", w.Tool+" is "+orNone(w.WireName))
	}
}

func orNone(name string) string {
	if name == "" {
		return "without one"
	}
	return name
}

func variables(list []host.VariableDiagnosis) string {
	var out []string
	for _, v := range list {
		text := v.Name
		switch v.State {
		case "default":
			text += " (not set, the default counts)"
		case "missing":
			text += " (not set)"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (r *report) findings(list []host.Finding) {
	for i := range list {
		r.text(findingText(&list[i]))
		r.advice(&list[i])
	}
}

func findingText(f *host.Finding) string {
	switch f.Kind {
	case host.KindConfiguration:
		return f.Message + place(f)
	case host.KindNote:
		return "note: " + f.Message
	}
	return f.Message
}

func (r *report) advice(f *host.Finding) {
	if f.Advice != "" {
		r.text("-> " + f.Advice)
	}
}

// place is where a finding is in the configuration, in parentheses.
func place(f *host.Finding) string {
	switch {
	case f.Key == "" && f.Column > 0:
		return fmt.Sprintf(" (%s:%d:%d)", f.File, f.Line, f.Column)
	case f.Key == "":
		return at(f.File, f.Line)
	case f.File == "":
		return " (" + f.Key + ")"
	}
	return fmt.Sprintf(" (%s:%d, %s)", f.File, f.Line, f.Key)
}

func at(file string, line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", file, line)
}

// head is the first line about something.
func (r *report) head(mark, name, text string) {
	name = r.clean(name)
	fill := strings.Repeat(" ", max(r.indent-markWidth-terminal.Columns(name), 1))
	first := fmt.Sprintf("%-*s", markWidth, mark)
	if mark == "FAIL" {
		first = r.streams.Bold(mark) + first[len(mark):]
	}
	r.wrapped(first+r.streams.Bold(name)+fill, text, r.indent)
}

func (r *report) text(text string) { r.wrapped(strings.Repeat(" ", r.indent), text, r.indent) }

// detail is a labelled text; nothing when there is no text.
func (r *report) detail(label, text string) {
	if text != "" {
		r.wrapped(strings.Repeat(" ", r.indent)+fmt.Sprintf("%-*s", labelWidth, label), text, r.indent+labelWidth)
	}
}

// cut is a detail on one line, the rest of it left out.
func (r *report) cut(label, text string) {
	text = r.clean(text)
	if r.streams.Width > 0 {
		text = terminal.Cut(text, max(r.streams.Width-r.indent-labelWidth, minText))
	}
	r.line(strings.Repeat(" ", r.indent) + fmt.Sprintf("%-*s", labelWidth, label) + text)
}

// minText is the least width of a column of text; a narrower terminal wraps itself.
const minText = 20

// wrapped writes text after first, on a terminal in lines of its width that begin
// at column indent.
func (r *report) wrapped(first, text string, indent int) {
	text = r.clean(text)
	if r.streams.Width == 0 {
		r.line(first + text)
		return
	}
	room := max(r.streams.Width-indent, minText)
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && terminal.Columns(line)+1+terminal.Columns(word) > room {
			r.line(first + line)
			first, line = strings.Repeat(" ", indent), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	r.line(first + line)
}

// clean makes a stranger's text one harmless line.
func (r *report) clean(text string) string { return r.streams.Text(terminal.Line(text)) }

func (r *report) line(text string) {
	r.out.WriteString(strings.TrimRight(text, " "))
	r.out.WriteByte('\n')
}
