package mcp

import (
	"fmt"
	"strings"

	"github.com/collet-dev/collet/host/internal/exposure"
)

// maxInstructions is the most bytes of the section about servers: every client
// pays for it with every request.
const maxInstructions = 4 << 10

// maxDescription is how much of a server's description its line holds when there
// is room; less as servers become more.
const maxDescription = 200

// Instructions is the section that tells a model which servers there are behind
// tool_search: one line each, at most 4 KiB, cut at whole lines. It is empty when
// no server has tools to be searched for.
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
	for width := maxDescription; ; width /= 2 {
		text := section(lines, width) + closing(down, starting)
		if len(text) <= maxInstructions {
			return text
		}
		if width == 0 {
			return cutLines(section(lines, 0), maxInstructions-len(closing(down, starting))) + closing(down, starting)
		}
	}
}

// searchable says whether the server can have tools that only a search finds.
func searchable(s Server) bool {
	for _, b := range offered([]Server{s}) {
		if b.name == toolSearch.name {
			return true
		}
	}
	return false
}

func section(servers []Server, width int) string {
	var b strings.Builder
	b.WriteString("<mcp_servers>\nServers whose tools are found with tool_search:\n")
	for _, s := range servers {
		b.WriteString("- " + s.Name)
		if n := behind(s); n > 0 {
			fmt.Fprintf(&b, " (%d tools)", n)
		}
		if d := oneLine(s.Description, width); d != "" {
			b.WriteString(": " + d)
		} else if d := oneLine(s.Instructions, width); d != "" {
			b.WriteString(": " + d)
		}
		b.WriteByte('\n')
	}
	b.WriteString("</mcp_servers>\n")
	return b.String()
}

// behind counts the tools of a server that are not in the list.
func behind(s Server) int {
	n := 0
	for _, t := range s.Tools {
		if t.Exposure == exposure.Deferred || t.Exposure == exposure.Codemode {
			n++
		}
	}
	return n
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

// cutLines is the longest beginning of text of whole lines and at most max bytes.
func cutLines(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return text[:strings.LastIndexByte(text[:max], '\n')+1]
}
