package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
)

// maxInstructions is the most bytes of the section about servers: every client
// pays for it with every request.
const maxInstructions = 4 << 10

// maxDescription is how much of a server's description its line holds when there
// is room; less as servers become more.
const maxDescription = 200

// Instructions is the section that tells a model which servers there are behind
// tool_search: one line each, at most 4 KiB. Where that is not enough, descriptions
// become shorter, and then the last servers are only counted. It is empty when no
// server has tools to be searched for.
func Instructions(servers []Server) string {
	var lines []Server
	down, starting := 0, 0
	for _, s := range servers {
		switch {
		case s.Starting:
			starting++
		case s.Down:
			down++
		}
		if searchable(s) {
			lines = append(lines, s)
		}
	}
	if len(lines) == 0 {
		return closing(down, starting)
	}
	head, end := heading(servers), closing(down, starting)
	for width := maxDescription; ; width /= 2 {
		text := section(head, lines, len(lines), width) + end
		if len(text) <= maxInstructions {
			return text
		}
		if width > 0 {
			continue
		}
		for told := len(lines) - 1; ; told-- {
			if text := section(head, lines, told, 0) + end; len(text) <= maxInstructions || told == 0 {
				return text
			}
		}
	}
}

// searchable says whether the server has tools that only a search finds, or can have
// some while they are not known.
func searchable(s Server) bool {
	if !s.Down || len(s.Tools) > 0 {
		return behind(s, exposure.Codemode)+behind(s, exposure.Deferred) > 0
	}
	return offers([]Server{s}, toolSearch.name)
}

// offers says whether one of the host's own tools is in the list of these servers.
func offers(servers []Server, tool string) bool {
	return slices.ContainsFunc(offered(servers), func(b bridge) bool { return b.name == tool })
}

// heading says how the tools of servers in the section are found and called.
func heading(servers []Server) string {
	text := "Servers whose tools are not declared to you; tool_search finds them."
	if offers(servers, name.CodeMode) {
		text += " Call tools of codemode servers from scripts with codemode."
	}
	if offers(servers, toolCall.name) {
		text += " Call tools of deferred servers with tool_call."
	}
	return text + "\n"
}

// section has the lines of the first servers, as many as are told, and the number of
// the others.
func section(head string, servers []Server, told, width int) string {
	var b strings.Builder
	b.WriteString("<mcp_servers>\n" + head)
	for _, s := range servers[:told] {
		b.WriteString("- " + s.Name + " (" + about(s) + ")")
		d := s.Description
		if strings.TrimSpace(d) == "" {
			d = s.Instructions
		}
		if d = oneLine(inSection(d), width); d != "" {
			b.WriteString(": " + d)
		}
		b.WriteByte('\n')
	}
	if n := len(servers) - told; n > 0 {
		b.WriteString("- " + count(n, "more server", "more servers") + "; tool_search finds their tools, too\n")
	}
	b.WriteString("</mcp_servers>\n")
	return b.String()
}

// about says how a server's tools are called, how many there are, and whether they
// can be: "codemode, 41 tools; starting".
func about(s Server) string {
	codemode, deferred := behind(s, exposure.Codemode), behind(s, exposure.Deferred)
	var text string
	switch {
	case codemode > 0 && deferred > 0:
		text = fmt.Sprintf("%d codemode and %d deferred tools", codemode, deferred)
	case codemode > 0:
		text = "codemode, " + count(codemode, "tool", "tools")
	case deferred > 0:
		text = "deferred, " + count(deferred, "tool", "tools")
	case offers([]Server{s}, toolCall.name):
		text = "deferred"
	default:
		text = "codemode"
	}
	switch {
	case s.Starting:
		text += "; starting"
	case s.Down:
		text += "; cannot be reached now"
	}
	return text
}

// behind counts the tools of a server that have that exposure.
func behind(s Server, e exposure.Exposure) int {
	n := 0
	for _, t := range s.Tools {
		if t.Exposure == e {
			n++
		}
	}
	return n
}

// inSection keeps a stranger's text from ending the section it is in.
func inSection(text string) string {
	return strings.NewReplacer("<mcp_servers", "mcp_servers", "</mcp_servers", "mcp_servers").Replace(text)
}

// closing is the line about servers whose tools may be missing.
func closing(down, starting int) string {
	var text string
	if starting > 0 {
		text = count(starting, "server is", "servers are") + " still starting.\n"
	}
	if down > 0 {
		text += count(down, "server", "servers") + " cannot be reached now; collet doctor says why.\n"
	}
	return text
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// oneLine is the beginning of a text as one line of at most max bytes.
func oneLine(text string, max int) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) <= max {
		return line
	}
	const more = "..."
	if max < 2*len(more) {
		return ""
	}
	return strings.ToValidUTF8(line[:max-len(more)], "") + more
}
