package host

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/credential"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// examine goes through the steps of one server's start.
func (h *Host) examine(ctx context.Context, n string, news *news) ServerDiagnosis {
	d := ServerDiagnosis{Name: n}
	for _, p := range h.hub.Config().Problems {
		if p.Server == n {
			d.Findings = append(d.Findings, configFinding(p))
			d.File, d.Line = p.File, p.Line
		}
	}
	set := h.hub.Config().Server(n)
	if set != nil {
		d.File, d.Line = set.File, set.Line
		d.Plugin.Name = server.PluginName(set)
		d.remote = set.URL != ""
	}
	s := h.hub.Server(n)
	if s == nil {
		d.State = h.server(n).State
		if set != nil { // it is switched off, perhaps by a project's file
			d.File, d.Line = set.Switch().File, set.Switch().Line
		}
		return d
	}
	d.LogFile = s.LogFile()
	in := s.Inspect(ctx)
	d.Plugin.Path = in.PluginFile
	if in.Description != nil {
		d.Plugin.Version = in.Description.Version
	}
	d.values(in.References)
	if in.Command != nil {
		d.Command = lookUp(in.Command, h.opt.Environ)
	}
	if in.Failure != nil {
		d.State = string(server.Failed) // it would, if it were started
		d.blocked(in, set.Plugin == "")
		return d
	}
	d.exposed(in.Exposed)
	if st, err := h.Credential(ctx, n); err == nil {
		d.login, d.tokens = st.Grant != credential.Command && st.Grant != credential.ClientCredentials, st.Configured || st.State != LoggedOut
	}
	begun, ran := time.Now(), s.Status().Pid != 0
	err := s.Ready(ctx, 0)
	if err == nil {
		if !ran {
			d.Started = time.Since(begun)
		}
		news.settle(ctx, s)
	}
	st := s.Status()
	d.State = string(st.State)
	if up := s.Upstream(); up != (server.Upstream{}) {
		d.Upstream = &UpstreamDiagnosis{
			Name: up.Name, Version: up.Version, ProtocolVersion: up.ProtocolVersion,
			Era: era(up.ProtocolVersion), ListChanged: up.ListChanged,
		}
	}
	d.StderrTail = tailSince(ctx, d.LogFile, begun, s.Redact)
	switch {
	case err != nil && st.State == server.Starting:
		advice := "wait longer with --wait"
		if !d.remote {
			advice += "; 'collet servers logs " + n + "' shows what it writes"
		}
		d.find(KindTimeout, "start", fmt.Sprintf("still starting after %s", time.Since(begun).Round(100*time.Millisecond)), advice)
	case err != nil && d.Command != nil && d.Command.problem() != "":
		d.find(KindUnreachable, "command", d.Command.problem(), d.Command.advice(d.place()))
	case err != nil:
		d.failed("start", server.AsFailure(err), s.Redact)
	case st.Failure != nil:
		d.failed("health", st.Failure, s.Redact)
		if _, listed := s.Tools(); listed && st.State == server.Degraded {
			d.degrade()
		}
	}
	if in.Unchecked != "" {
		d.find(KindNote, "settings", "its settings are not validated, because its plugin's schema for them cannot be used: "+in.Unchecked, "tell the plugin's author")
	}
	if st.Pid != 0 {
		d.conduct(st.Pid, s.Printed())
	}
	return d
}

// floodOf is how much a process may print while it is looked at before that is told, in
// bytes: its log keeps little more than the last 5 MiB.
const floodOf = 1 << 20

// conduct tells of a process that works, and does what no adapter should.
func (d *ServerDiagnosis) conduct(pid int, printed int64) {
	if printed > floodOf {
		d.find(KindNote, "stderr", fmt.Sprintf("it has written %d MiB to stderr since it was started; its log keeps the end of that", printed>>20),
			"have it log less; 'collet servers logs "+d.Name+"' shows what it writes")
	}
	if strays := launch.Strays(pid); len(strays) > 0 {
		d.find(KindNote, "processes", "processes that it started have left its session, and go on when it ends: "+some(strays),
			"end them by hand, and tell the plugin's author")
	}
}

func (d *ServerDiagnosis) find(kind Kind, check, message, advice string) {
	d.Findings = append(d.Findings, Finding{Kind: kind, Check: check, Message: message, Advice: advice, File: d.File, Line: d.Line})
}

func (d *ServerDiagnosis) values(refs []config.Reference) {
	for _, ref := range refs {
		v := ValueDiagnosis{Key: ref.Key, Line: ref.Line, Command: ref.Command}
		for _, x := range ref.Variables {
			v.Variables = append(v.Variables, VariableDiagnosis{x.Name, string(x.State)})
		}
		d.Values = append(d.Values, v)
	}
}

// blocked tells the step that a start cannot get over.
func (d *ServerDiagnosis) blocked(in *server.Inspection, generic bool) {
	before := len(d.Findings)
	switch in.Step {
	case server.StepPlugin:
		advice := "install it, or name its directory in host.plugin_dirs"
		if generic {
			advice = "it comes with collet and belongs beside the collet binary"
		}
		if in.Failure.Misconfigured {
			d.missing()
			if len(d.Findings) > before {
				return
			}
			d.find(KindConfiguration, "value", in.Failure.Message, "correct "+d.place())
			return
		}
		d.find(KindUnreachable, "plugin", in.Failure.Message, advice)
	case server.StepPin:
		advice := "make sure that the file and its mcp.lock can be read; docs/pins.md describes both"
		if in.Failure.Class == failure.ConsentRequired {
			advice = "find out who changed it; 'collet plugins trust " + d.Name + "' accepts it as it is now"
		}
		d.find(kindOf(in.Failure), "pin", in.Failure.Message, advice)
	case server.StepDescribe:
		d.find(kindOf(in.Failure), "plugin", in.Failure.Message, "install the plugin again, or see what '"+in.PluginFile+" describe' prints")
	case server.StepValues:
		d.missing()
		if len(d.Findings) == before {
			d.find(KindConfiguration, "value", strings.TrimPrefix(in.Failure.Message, d.Name+": "), "correct "+d.place()+", or set enabled = false")
		}
	}
}

// exposed tells of secrets that every user of the machine can read.
func (d *ServerDiagnosis) exposed(args []int) {
	if len(args) == 0 {
		return
	}
	var which []string
	for _, i := range args {
		which = append(which, fmt.Sprintf("args[%d]", i))
	}
	d.find(KindNote, "argv", "a secret is on its command line, where others on this machine can read it: "+some(which),
		"pass it with env, if the server takes it from there ("+d.place()+")")
}

// missing tells every variable that is not set, each once.
func (d *ServerDiagnosis) missing() {
	told := map[string]bool{}
	for _, v := range d.Values {
		for _, x := range v.Variables {
			if x.State != string(config.VariableMissing) || told[x.Name] {
				continue
			}
			told[x.Name] = true
			d.Findings = append(d.Findings, Finding{
				Kind: KindConfiguration, Check: "value", Message: x.Name + " is not set",
				Advice: "set " + x.Name + ", or enabled = false", File: d.File, Line: v.Line, Key: v.Key,
			})
		}
	}
}

func (d *ServerDiagnosis) place() string { return fmt.Sprintf("%s:%d", d.File, d.Line) }

// failed tells a failure of a start, or of a server that was ready.
func (d *ServerDiagnosis) failed(check string, f *server.Failure, redact func(string) string) {
	if len(d.StderrTail) == 0 {
		d.StderrTail = bounded(f.StderrTail, redact)
	}
	message := f.Message
	if f.Misconfigured {
		check = "settings"
		if len(f.Problems) > 0 {
			var faults []string
			for _, p := range f.Problems {
				faults = append(faults, strings.TrimPrefix(p.Path+": "+p.Message, ": "))
			}
			message = "its settings do not fit the plugin: " + some(faults)
		}
	}
	d.find(kindOf(f), check, redact(message), d.advice(f))
}

// degrade makes less of what was found last, of a server whose tools are there. What a
// person has to do something about stays what it is.
func (d *ServerDiagnosis) degrade() {
	if f := &d.Findings[len(d.Findings)-1]; f.Kind == KindUnreachable || f.Kind == KindTimeout {
		f.Kind = KindDegraded
	}
}

func kindOf(f *server.Failure) Kind {
	switch {
	case f.Misconfigured:
		return KindConfiguration
	case f.Class == failure.Timeout:
		return KindTimeout
	case f.Class == failure.AuthFailure, f.Class == failure.ConsentRequired:
		return KindAuth
	}
	return KindUnreachable
}

// advice says what to do about a failure of a start.
func (d *ServerDiagnosis) advice(f *server.Failure) string {
	switch {
	case f.Misconfigured && len(f.Problems) > 0:
		return "correct " + d.place() + "; '" + d.Plugin.Path + " describe' shows the settings there are"
	case f.Misconfigured:
		return "correct " + d.place() + ", or set enabled = false"
	}
	switch {
	case f.Class == failure.Timeout && d.remote:
		return "see if the server answers there, or raise start_timeout in " + d.place()
	case f.Class == failure.Timeout:
		return "raise start_timeout, or run it by hand to see what it waits for"
	case f.Class == failure.AuthFailure && d.login && d.tokens:
		return "collet auth login " + d.Name
	case f.Class == failure.AuthFailure && d.login:
		return "collet auth login " + d.Name + ", or set its credential in headers (" + d.place() + ")"
	case f.Class == failure.AuthFailure && d.remote:
		return "set its credential in headers (" + d.place() + ")"
	case f.Class == failure.AuthFailure:
		return "check the credential in " + d.place()
	case f.Class == failure.ConsentRequired:
		return "once a person agrees to that, write it in " + d.place()
	case f.Class == failure.DNSFailure:
		return "check the host's name in " + d.place() + ", and the network"
	case f.Class == failure.RateLimited:
		return "try again later"
	case f.Class == failure.InvalidResult && d.remote, f.UpstreamCode == http.StatusNotFound && d.remote:
		return "check the url in " + d.place() + ": it has to be that of the MCP endpoint, which often ends in /mcp"
	case f.Class == failure.InvalidResult:
		return "what it answered is not MCP as collet knows it; see if there is a newer version of the server"
	case d.remote:
		return "see if the server runs, and is reached by the url in " + d.place()
	}
	if len(d.StderrTail) > 0 {
		return "its stderr may say why; 'collet servers logs " + d.Name + "' has all of it"
	}
	return "'collet servers logs " + d.Name + "' shows what it wrote"
}

// conclude looks at the tools of a server, and tells what is odd about them.
func (d *ServerDiagnosis) conclude(s *server.Server, wire func(*catalog.Tool) string) {
	var tools []*catalog.Tool
	if tools, d.Listed = s.Tools(); !d.Listed {
		return
	}
	d.Tools = len(tools)
	var lost, altered []string
	for _, t := range tools {
		if why := t.Unchecked(); why != "" {
			d.Unchecked = append(d.Unchecked, UncheckedSchema{t.Name, "inputSchema", why})
		}
		if out := t.Output(); out != nil && out.Unchecked() != "" {
			d.Unchecked = append(d.Unchecked, UncheckedSchema{t.Name, "outputSchema", out.Unchecked()})
		}
		switch w := wire(t); w {
		case t.Server + "__" + t.Name, t.Name: // as written
		case "":
			d.WireNames = append(d.WireNames, AlteredName{t.Name, ""})
			lost = append(lost, t.Name)
		default:
			d.WireNames = append(d.WireNames, AlteredName{t.Name, w})
			altered = append(altered, t.Name+" is "+w)
		}
		if !proper(t.Name) {
			d.OddNames = append(d.OddNames, t.Name)
		}
	}
	if len(lost) > 0 {
		d.find(KindConfiguration, "wire-names", "no model client can name "+some(lost)+": with wire_names = \"plain\" another tool claims the same name",
			`set wire_names = "prefixed", or hide one of the two with tool_exposure`)
	}
	d.approval(s)
	d.notes(s, tools, altered)
}

// approval tells of tools that are not what was accepted.
func (d *ServerDiagnosis) approval(s *server.Server) {
	_, rewritten, fault := s.Approval()
	d.Rewritten = rewritten
	withheld := s.Settings().OnChange == "block"
	if fault != nil {
		kind, message := KindNote, fault.Error()
		if withheld {
			kind, message = KindConfiguration, message+`; with on_change = "block" none of its tools is used`
		}
		d.find(kind, "rewritten", message, "")
	}
	if len(rewritten) == 0 {
		return
	}
	kind, message := KindNote, "rewritten by the server since they were accepted: "+some(quoted(rewritten))
	if withheld {
		kind, message = KindAuth, message+`; they are withheld, as on_change = "block" says`
	}
	d.find(kind, "rewritten", message, "'collet plugins trust "+d.Name+"' shows the changes and accepts them")
}

func (d *ServerDiagnosis) notes(s *server.Server, tools []*catalog.Tool, altered []string) {
	note := func(check, message, advice string) { d.find(KindNote, check, message, advice) }
	if len(tools) == 0 {
		note("tools", "it offers no tools", "")
	}
	if len(d.Unchecked) > 0 {
		note("schemas", "not validated: "+uncheckedText(d.Unchecked), "the tools work; tell the server's author")
	}
	if len(altered) > 0 {
		note("wire-names", "spelled differently toward model clients: "+some(altered), "")
	}
	if len(d.OddNames) > 0 {
		note("tool-names", "not names as MCP recommends them: "+some(quoted(d.OddNames)), "")
	}
	if d.ListChanges > 0 {
		note("list", fmt.Sprintf("its list of tools changed %d times while it was looked at", d.ListChanges), "")
	}
	if unknown := unmatched(s, tools); len(unknown) > 0 {
		note("tool-exposure", "tool_exposure names tools that it does not have: "+some(unknown), "correct the names in "+s.Settings().Place("tool_exposure").String())
	}
}

// uncheckedText names the tools, and the reason where there is one to tell.
func uncheckedText(list []UncheckedSchema) string {
	if len(list) == 1 {
		return fmt.Sprintf("%s of %s: %s", list[0].Schema, list[0].Tool, list[0].Reason)
	}
	var names []string
	for _, u := range list {
		if !slices.Contains(names, u.Tool) {
			names = append(names, u.Tool)
		}
	}
	return some(names)
}

// unmatched are the exact names of tool_exposure that no tool has.
func unmatched(s *server.Server, tools []*catalog.Tool) []string {
	var out []string
	for _, rule := range s.Settings().Rules.Tools {
		if strings.ContainsAny(rule.Pattern, "*?") || slices.ContainsFunc(tools, func(t *catalog.Tool) bool { return t.Name == rule.Pattern }) {
			continue
		}
		out = append(out, rule.Pattern)
	}
	return out
}

// maxToolName is the longest name that MCP recommends (2025-11-25, server/tools,
// Tool Names).
const maxToolName = 128

// proper reports whether a tool's name is as MCP recommends.
func proper(tool string) bool {
	return tool != "" && len(tool) <= maxToolName && strings.Trim(tool, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == ""
}

// firstModern is the first revision of the server/discover era.
const firstModern = "2026-07-28"

func era(version string) string {
	switch {
	case version == "":
		return ""
	case version >= firstModern:
		return "modern"
	}
	return "legacy"
}

// maxNamed is how many of many things a message names; the typed lists have all.
const maxNamed = 3

func some(things []string) string {
	if more := len(things) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(things[:maxNamed], ", "), more)
	}
	return strings.Join(things, ", ")
}

func quoted(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		if len(n) > maxToolName {
			n = n[:maxToolName] + "..."
		}
		out = append(out, fmt.Sprintf("%q", n))
	}
	return out
}
