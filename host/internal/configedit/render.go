package configedit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawtoml"
)

// render is a server's entry in an mcp.toml. unsaid is the exposure of tools that
// nothing is said about.
func render(as string, s clientfile.Server, from *clientfile.File, unsaid exposure.Exposure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# from %s: %s\n[servers.%s]\n", from.Client.Title, comment(from.Path), as)
	if !s.Enabled {
		b.WriteString("enabled = false\n")
	}
	text := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, rawtoml.Quote(value))
		}
	}
	text("description", s.Description)
	text("command", s.Command)
	if len(s.Args) > 0 {
		args := make([]string, len(s.Args))
		for i, a := range s.Args {
			args[i] = rawtoml.Quote(a)
		}
		fmt.Fprintf(&b, "args = [%s]\n", strings.Join(args, ", "))
	}
	text("cwd", s.Cwd)
	text("url", s.URL)
	if s.Timeout > 0 {
		text("timeout", duration(s.Timeout))
	}
	if s.StartTimeout > 0 {
		text("start_timeout", duration(s.StartTimeout))
	}
	table := func(key string, pairs []clientfile.Pair) {
		if len(pairs) == 0 {
			return
		}
		fmt.Fprintf(&b, "[servers.%s.%s]\n", as, key)
		for _, p := range pairs {
			fmt.Fprintf(&b, "%s = %s\n", rawtoml.Key(p.Key), rawtoml.Quote(p.Value))
		}
	}
	table("env", s.Env)
	table("headers", s.Headers)
	table("tool_exposure", toolExposure(s, unsaid))
	return b.String()
}

// toolExposure hides the tools that the client did not have.
func toolExposure(s clientfile.Server, unsaid exposure.Exposure) (rules []clientfile.Pair) {
	seen := map[string]bool{"": true}
	add := func(tools []string, e exposure.Exposure) {
		for _, t := range tools {
			if !seen[t] {
				seen[t] = true
				rules = append(rules, clientfile.Pair{Key: t, Value: string(e)})
			}
		}
	}
	add(s.Hidden, exposure.Hidden)
	if s.Only != nil {
		add(s.Only, unsaid)
		add([]string{"*"}, exposure.Hidden)
	}
	return rules
}

// duration is d without the parts that are zero: 2m, not 2m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// comment is text as a comment can hold it.
func comment(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) {
		return strconv.Quote(text)
	}
	return text
}
