package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/layer"
)

// trustSummary is what the project's file that was found does once it is
// trusted: every value it sets, none shortened and none hidden, for a person who
// has to decide. Nothing of it has any effect by that.
func trustSummary(found *host.Discovery) string {
	file := found.Ignored()
	before := config.Merge(found.Sources())
	after := config.Merge(append(found.Sources(), config.Source{File: file.Path, Layer: config.Project, Data: file.Data}))

	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", visible(file.Path), standing(file))
	var global []config.Setting
	own := map[string][]config.Setting{}
	for _, s := range after.Settings() {
		switch {
		case s.Place.Layer != config.Project:
		case s.Server() == "":
			global = append(global, s)
		default:
			own[s.Server()] = append(own[s.Server()], s)
		}
	}
	nothing := true
	for _, s := range after.Servers {
		if s.Layer == config.Project || len(own[s.Name]) > 0 {
			nothing = false
			fmt.Fprintf(&b, "  server %s %s\n", visible(s.Name), deed(s, before.Server(s.Name)))
			settingLines(&b, own[s.Name])
		}
	}
	if len(global) > 0 {
		nothing = false
		b.WriteString("  host settings\n")
		settingLines(&b, global)
	}
	for _, s := range before.Servers {
		if after.Server(s.Name) == nil {
			nothing = false
			fmt.Fprintf(&b, "  server %s is lost: the entry here takes its place and has a fault\n", visible(s.Name))
		}
	}
	if nothing {
		b.WriteString("  nothing\n")
	}
	for _, p := range after.Problems {
		if p.File == file.Path {
			fmt.Fprintf(&b, "  fault: %s\n", visible(p.Error()))
		}
	}
	return b.String()
}

func standing(file *layer.File) string {
	if file.Changed {
		return "was changed since it was trusted. It has:"
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
		fmt.Fprintf(b, "    %s = %s%s\n", visible(s.Name()), literal(gjson.ParseBytes(s.Value)), remark(s))
	}
}

// remark warns of a value that is run as soon as the server starts.
func remark(s config.Setting) string {
	runs := false
	var look func(v gjson.Result)
	look = func(v gjson.Result) {
		if v.IsArray() || v.IsObject() {
			v.ForEach(func(_, item gjson.Result) bool { look(item); return true })
			return
		}
		runs = runs || strings.HasPrefix(v.String(), "!") && !strings.HasPrefix(v.String(), "!!")
	}
	key, _, _ := strings.Cut(s.Name(), ".")
	if slices.Contains([]string{"env", "headers", "config", "oauth"}, key) {
		look(gjson.ParseBytes(s.Value))
	}
	if runs {
		return "   (runs this command)"
	}
	return ""
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

// visible is text of a stranger on one line, with all that has no shape of its own
// on a terminal escaped: controls, and marks that join, hide or turn around.
func visible(text string) string {
	var b strings.Builder
	for _, r := range terminal.Escape(text) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
