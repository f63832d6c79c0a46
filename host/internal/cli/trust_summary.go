package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/layer"
)

// offer is what the project's file that was found does once it is trusted, for a
// person who has to decide.
type offer struct {
	// text is every value it sets, none shortened and none hidden.
	text string
	// sum is the same in a few words, for when the text has scrolled away.
	sum string
}

func (o offer) question(file *layer.File) string {
	return fmt.Sprintf("Trust %s: %s? [y/N] ", visible(file.Path), o.sum)
}

// offered looks at the project's file that does not count. Nothing of it has any
// effect by that.
func offered(found *host.Discovery) offer {
	file := found.Ignored()
	before := config.Merge(found.Sources())
	after := config.Merge(append(found.Sources(), config.Source{File: file.Path, Layer: config.Project, Data: file.Data}))

	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", visible(file.Path), standing(file))
	var global []config.Setting
	own := map[string][]config.Setting{}
	commands := 0
	for _, s := range after.Settings() {
		switch {
		case s.Place.Layer != config.Project:
		case s.Server() == "":
			global = append(global, s)
		default:
			own[s.Server()] = append(own[s.Server()], s)
			if runsCommand(s) {
				commands++
			}
		}
	}
	added, changed := 0, 0
	for _, s := range after.Servers {
		switch mine := before.Server(s.Name); {
		case s.Layer != config.Project && len(own[s.Name]) == 0:
			continue
		case mine != nil:
			changed++
		default:
			added++
		}
		fmt.Fprintf(&b, "  server %s %s\n", visible(s.Name), deed(s, before.Server(s.Name)))
		settingLines(&b, own[s.Name])
	}
	if len(global) > 0 {
		b.WriteString("  host settings\n")
		settingLines(&b, global)
	}
	for _, s := range before.Servers {
		if after.Server(s.Name) == nil {
			changed++
			fmt.Fprintf(&b, "  server %s is lost: the entry here takes its place and has a fault\n", visible(s.Name))
		}
	}
	var sum []string
	for _, part := range []struct {
		n    int
		noun string
	}{{added, "server"}, {changed, "change"}, {commands, "command"}, {len(global), "host setting"}} {
		if part.n > 0 {
			sum = append(sum, count(part.n, part.noun))
		}
	}
	if len(sum) == 0 {
		sum = append(sum, "nothing")
		b.WriteString("  nothing\n")
	}
	for _, p := range after.Problems {
		if p.File == file.Path {
			fmt.Fprintf(&b, "  fault: %s\n", visible(p.Error()))
		}
	}
	return offer{b.String(), strings.Join(sum, ", ")}
}

func standing(file *layer.File) string {
	if file.Changed {
		return "has changed since it was trusted. It has:"
	}
	return "is not trusted. It has:"
}

// deed is what a server of the project's file does, and to which of the user's.
func deed(s, before *config.Server) string {
	if s.Layer != config.Project {
		return "changes yours:"
	}
	what := "starts a plugin:"
	switch {
	case s.Command != "":
		what = "starts a program:"
	case s.URL != "":
		what = "connects to an address:"
	}
	if before != nil {
		what = "replaces yours, and " + what
	}
	return what
}

func settingLines(b *strings.Builder, list []config.Setting) {
	for _, s := range list {
		remark := ""
		if runsCommand(s) {
			remark = "   (runs this command)"
		}
		fmt.Fprintf(b, "    %s = %s%s\n", visible(s.Name()), literal(gjson.ParseBytes(s.Value)), remark)
	}
}

// runsCommand reports whether the value is a command, or holds one, that is run
// when the server starts.
func runsCommand(s config.Setting) bool {
	key, inner, _ := strings.Cut(s.Name(), ".")
	return key == "oauth" && inner == "token_command" || slices.Contains([]string{"env", "headers", "config", "oauth"}, key) && holdsCommand(gjson.ParseBytes(s.Value))
}

func holdsCommand(v gjson.Result) (yes bool) {
	if v.IsArray() || v.IsObject() {
		v.ForEach(func(_, item gjson.Result) bool { yes = yes || holdsCommand(item); return !yes })
		return yes
	}
	return strings.HasPrefix(v.String(), "!") && !strings.HasPrefix(v.String(), "!!")
}

// literal is a value as TOML has it, on one line, with everything that cannot be
// seen escaped.
func literal(v gjson.Result) string {
	var parts []string
	switch {
	case v.IsArray():
		v.ForEach(func(_, item gjson.Result) bool { parts = append(parts, literal(item)); return true })
		return "[" + strings.Join(parts, ", ") + "]"
	case v.IsObject():
		v.ForEach(func(k, item gjson.Result) bool {
			parts = append(parts, strconv.Quote(k.String())+" = "+literal(item))
			return true
		})
		return "{" + strings.Join(parts, ", ") + "}"
	case v.Type == gjson.String:
		return strconv.Quote(v.String())
	}
	return visible(v.Raw)
}

// visible is text of a stranger on one line.
func visible(text string) string { return terminal.Visible(text) }
