package configedit

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/clientfile"
	"github.com/collet-dev/collet/host/internal/config"
)

// What a client had is what the server gets: text of a file goes through the
// reader, the TOML, config.Parse and config.Resolve and comes out the same.
func TestValuesSurvive(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	bits := []string{
		"$", "$$", "${", "}", "${A}", "$A", "!", "!!", "~", "~/", "/", "\\", "\"", "'", "'''", "\"\"\"", "\n", "\r\n", "\t", "\x01", "\x7f",
		"\u0085", "\u2028", "é", "🦊", "\u202e", "a", " ", "#", "[", "]", "=", ",", "{env:A}", "${env:A}", "%s", "`", "x\ufffdy", "\\u0041", ":-",
	}
	word := func() string {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteString(bits[random.IntN(len(bits))])
		}
		return b.String()
	}
	const home = "/home/ann"
	tilde := func(s string) string { // the one thing that mcp.toml cannot spell
		if rest, ok := strings.CutPrefix(s, "~"); ok && (rest == "" || rest[0] == '/') {
			return home + rest
		}
		return s
	}
	for range 500 {
		args := []string{word(), word(), word()}
		env := map[string]string{"A": word(), "b c": word()}
		header := strings.NewReplacer("\n", "", "\r", "").Replace(word())
		text := fmt.Sprintf(`{"mcpServers": {
			"one": {"command": %s, "args": [%s, %s, %s], "env": {"A": %s, "b c": %s}},
			"two": {"url": "https://example.com/", "headers": {"X": %s}}}}`,
			js("run"+args[0]), js(args[0]), js(args[1]), js(args[2]), js(env["A"]), js(env["b c"]), js(header))
		f, err := clientfile.Read("/h/claude_desktop_config.json", []byte(text), "", clientfile.Surroundings{Home: home})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		const file = "/nowhere/mcp.toml"
		p, err := New(file, nil, []*clientfile.File{f}, "")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		c := config.Parse(file, p.Text)
		if len(c.Problems) > 0 || len(c.Servers) != 2 {
			t.Fatalf("%s becomes\n%s\nwith %v", text, p.Text, c.Problems)
		}
		resolver := config.Resolver{Lookup: func(string) (string, bool) { return "", false }, Home: home}
		one, err := c.Servers[0].Resolve(t.Context(), resolver)
		if err != nil {
			t.Fatalf("%s becomes\n%s\n%v", text, p.Text, err)
		}
		for i, got := range one.Args {
			if want := tilde(args[i]); got != want {
				t.Errorf("arg %q becomes %q by %s", want, got, p.Text)
			}
		}
		if want := "run" + args[0]; !strings.ContainsAny(want, `/\`) && one.Command != want {
			t.Errorf("command %q becomes %q", want, one.Command)
		}
		secret := func(s string) string {
			if rest, ok := strings.CutPrefix(s, "!"); ok {
				return "!" + tilde(rest)
			}
			return tilde(s)
		}
		for k, v := range env {
			if got := one.Env[k]; got != secret(v) {
				t.Errorf("variable %q becomes %q by %s", v, got, p.Text)
			}
		}
		two, err := c.Servers[1].Resolve(t.Context(), resolver)
		if err != nil {
			t.Fatal(err)
		}
		if got := two.Headers["X"]; got != secret(header) {
			t.Errorf("header %q becomes %q", header, got)
		}
	}
}

// What a client makes of its variables, mcp.toml makes of what they became.
// clients are as their documentation and source describe the replacement.
func TestVariablesSurvive(t *testing.T) {
	vars := map[string]string{"A": "1$B!", "B": "~/x", "C_2": "}"}
	set := func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		return "(unset)"
	}
	or := func(inner string) string {
		name, fallback, has := strings.Cut(inner, ":-")
		switch v, ok := vars[name]; {
		case ok:
			return v
		case has:
			return fallback
		}
		return "(unset)"
	}
	clients := map[string]struct {
		pattern string
		replace func(groups []string) string
	}{
		"claude-code": {`\$\{([A-Za-z_]\w*(?::-[^}]*)?)\}`, func(g []string) string { return or(g[1]) }},
		"gemini": {`\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*(?::-[^}]*)?)\})`, func(g []string) string {
			if g[1] != "" {
				return set(g[1])
			}
			return or(g[2])
		}},
		"cursor":   {`\$\{env:([^}]+)\}`, func(g []string) string { return set(g[1]) }},
		"opencode": {`\{env:([^}]+)\}`, func(g []string) string { return set(g[1]) }},
		"windsurf": {`\$\{(?:env:([^}]+)|(\w+))\}`, func(g []string) string { return set(g[1] + g[2]) }},
	}
	bits := []string{
		"$", "$$", "{", "}", "${A}", "$A", "${B}", "${C_2}", "${D:-", "${D:-d$A}", "${A:-x}", "${env:A}", "{env:B}", "${env:B}", "$B", "${", "{env:",
		"!", "~", "/", "x", "_", ":-", " ", "\\", "\"", "é",
	}
	random := rand.New(rand.NewPCG(3, 4))
	for client, c := range clients {
		pattern := regexp.MustCompile(c.pattern)
		for range 500 {
			text := ""
			for range random.IntN(7) {
				text += bits[random.IntN(len(bits))]
			}
			want := pattern.ReplaceAllStringFunc(text, func(m string) string { return c.replace(pattern.FindStringSubmatch(m)) })
			if strings.HasPrefix(strings.TrimPrefix(text, "!"), "~") || strings.Contains(text, ":-~") {
				continue // see TestValuesSurvive; in a default it is the same
			}
			raw := `{"mcpServers": {"a": {"command": "x", "env": {"K": ` + js(text) + `}}}}`
			if client == "opencode" {
				raw = `{"mcp": {"a": {"type": "local", "command": ["x"], "environment": {"K": ` + js(text) + `}}}}`
			}
			f, err := clientfile.Read("/x/a.json", []byte(raw), client, clientfile.Surroundings{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := New("/c/mcp.toml", nil, []*clientfile.File{f}, "")
			if err != nil {
				t.Fatal(err)
			}
			lookup := func(k string) (string, bool) { v, ok := vars[k]; return v, ok }
			got, err := config.Parse("/c/mcp.toml", p.Text).Servers[0].Resolve(t.Context(), config.Resolver{Lookup: lookup, Home: "/home/ann"})
			switch {
			case strings.Contains(want, "(unset)"):
				if err == nil {
					t.Errorf("%s: %q has an unset variable and becomes %q", client, text, got.Env["K"])
				}
			case err != nil:
				t.Errorf("%s: %q: %v", client, text, err)
			case got.Env["K"] != want:
				t.Errorf("%s: %q becomes %q, want %q", client, text, got.Env["K"], want)
			}
		}
	}
}

// js is s as JSON with every character escaped that may be.
func js(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
