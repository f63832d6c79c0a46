package configedit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/exposure"
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
			fmt.Fprintf(&b, "%s = %s\n", key, quote(value))
		}
	}
	text("description", s.Description)
	text("command", s.Command)
	if len(s.Args) > 0 {
		args := make([]string, len(s.Args))
		for i, a := range s.Args {
			args[i] = quote(a)
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
			fmt.Fprintf(&b, "%s = %s\n", bareKey(p.Key), quote(p.Value))
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

// bareKey is a key, in quotes when TOML wants them.
func bareKey(key string) string {
	if key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return key
	}
	return basic(key)
}

// quote is a TOML string on one line: a literal one where that spares escapes, as
// in the paths of Windows.
func quote(value string) string {
	plain := func(r rune) bool { return r >= ' ' && r != 0x7f && r != '\'' && r != utf8.RuneError }
	if strings.ContainsAny(value, `\"`) && strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0 {
		return "'" + value + "'"
	}
	return basic(value)
}

// basic is a TOML basic string (TOML 1.0, "String").
func basic(value string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r) // a byte that is no UTF-8 becomes U+FFFD
		}
	}
	b.WriteByte('"')
	return b.String()
}

// comment is text as a comment can hold it.
func comment(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) {
		return strconv.Quote(text)
	}
	return text
}
