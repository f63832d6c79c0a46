package configedit

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/name"
)

// mostAlike bounds how many servers of one name are told apart by numbers.
const mostAlike = 9

// candidates are the names that a server may get, best first: its own, then with
// the client or project it comes from, then with numbers.
func candidates(server string, from *clientfile.File) []string {
	label := from.Client.Name
	if from.Project != "" {
		label = filepath.Base(from.Project)
	}
	list := []string{valid(server, ""), valid(server, "-"+label)}
	for n := 2; n <= mostAlike; n++ {
		list = append(list, valid(server, "-"+strconv.Itoa(n)))
	}
	return list
}

// valid is the server name that comes nearest to text, with suffix behind it.
func valid(text, suffix string) string {
	suffix = clean(suffix)
	if suffix != "" {
		suffix = "-" + suffix
	}
	most := name.MaxServer - min(len(suffix), name.MaxServer/2)
	base := clean(text)
	if len(base) > most {
		// Of "@modelcontextprotocol/server-github" the end says more.
		if i := strings.LastIndexByte(text, '/'); i >= 0 && clean(text[i+1:]) != "" {
			base = clean(text[i+1:])
		}
	}
	if base == "" {
		base = "server"
	}
	return clean(clean(base[:min(len(base), most)]) + suffix[:min(len(suffix), name.MaxServer/2)])
}

// clean keeps of text what a server name may hold: runs of anything else become
// one -, runs of _ one _, and both ends are letters or digits.
func clean(text string) string {
	var b strings.Builder
	last := byte('-')
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
		case c == '-', c == '_' && last != '_':
		case last == '-' || c == '_':
			continue
		default:
			c = '-'
		}
		b.WriteByte(c)
		last = c
	}
	return strings.Trim(b.String(), "-_")
}
