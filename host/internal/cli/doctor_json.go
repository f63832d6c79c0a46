package cli

import (
	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// diagnosisJSON is the one object that doctor --json prints (docs/cli.md). What is
// not known is null.
func diagnosisJSON(d *host.Diagnosis) []byte {
	var o rawjson.Object
	o.Bool("ok", !d.Worst().Fails())
	o.String("worst", string(d.Worst()))
	o.Int("durationMs", d.Duration.Milliseconds())

	var h rawjson.Object
	h.String("version", d.Host.Version)
	h.Strings("configFiles", d.Host.ConfigFiles)
	h.String("stateDir", d.Host.StateDir)
	h.String("cacheDir", d.Host.CacheDir)
	h.OptionalString("socketDir", d.Host.SocketDir)
	h.Strings("pluginDirs", d.Host.PluginDirs)
	h.Raw("hooks", array(d.Host.Hooks, func(o *rawjson.Object, s *host.HookStatus) {
		o.String("name", s.Name)
		o.String("plugin", s.Plugin)
		o.String("onError", s.OnError)
		o.Strings("points", s.Points)
		o.Bool("ok", s.Err == nil)
		o.String("logFile", s.LogFile)
	}))
	h.Raw("findings", findingsJSON(d.Host.Findings))
	o.Raw("host", h.Bytes())
	o.Raw("servers", array(d.Servers, serverDiagnosisJSON))
	return o.Bytes()
}

func serverDiagnosisJSON(o *rawjson.Object, s *host.ServerDiagnosis) {
	o.String("name", s.Name)
	o.String("state", s.State)
	o.Bool("ok", !s.Worst().Fails())
	o.OptionalString("file", s.File)
	o.OptionalInt("line", int64(s.Line))
	var p rawjson.Object
	p.OptionalString("name", s.Plugin.Name)
	p.OptionalString("path", s.Plugin.Path)
	p.OptionalString("version", s.Plugin.Version)
	o.Raw("plugin", p.Bytes())
	o.Raw("values", array(s.Values, func(o *rawjson.Object, v *host.ValueDiagnosis) {
		o.String("key", v.Key)
		o.Int("line", int64(v.Line))
		o.Bool("command", v.Command)
		o.Raw("variables", array(v.Variables, func(o *rawjson.Object, x *host.VariableDiagnosis) {
			o.String("name", x.Name)
			o.String("state", x.State)
		}))
	}))
	o.Raw("command", commandJSON(s.Command))
	o.Strings("rewritten", s.Rewritten)
	o.OptionalInt("startedMs", s.Started.Milliseconds())
	o.Raw("upstream", upstreamJSON(s.Upstream))
	if s.Listed {
		o.Int("tools", int64(s.Tools))
	} else {
		o.Raw("tools", nil)
	}
	o.Raw("unchecked", array(s.Unchecked, func(o *rawjson.Object, u *host.UncheckedSchema) {
		o.String("tool", u.Tool)
		o.String("schema", u.Schema)
		o.String("reason", u.Reason)
	}))
	o.Raw("wireNames", array(s.WireNames, func(o *rawjson.Object, w *host.AlteredName) {
		o.String("tool", w.Tool)
		o.OptionalString("wireName", w.WireName)
	}))
	o.Strings("oddNames", s.OddNames)
	o.Int("listChanges", int64(s.ListChanges))
	o.Raw("findings", findingsJSON(s.Findings))
	o.Strings("stderrTail", s.StderrTail)
	o.OptionalString("logFile", s.LogFile)
}

func commandJSON(c *host.CommandDiagnosis) []byte {
	if c == nil {
		return nil
	}
	var o rawjson.Object
	o.String("name", c.Name)
	o.OptionalString("path", c.Path)
	o.OptionalString("interpreter", c.Interpreter)
	o.OptionalString("missing", c.Missing)
	o.Strings("searchPath", c.SearchPath)
	o.Strings("elsewhere", c.Elsewhere)
	o.OptionalString("foundIn", c.FoundIn)
	return o.Bytes()
}

func upstreamJSON(u *host.UpstreamDiagnosis) []byte {
	if u == nil {
		return nil
	}
	var o rawjson.Object
	o.String("name", u.Name)
	o.String("version", u.Version)
	o.OptionalString("protocolVersion", u.ProtocolVersion)
	o.OptionalString("era", u.Era)
	o.Bool("listChanged", u.ListChanged)
	return o.Bytes()
}

func findingsJSON(findings []host.Finding) []byte {
	return array(findings, func(o *rawjson.Object, f *host.Finding) {
		o.String("kind", string(f.Kind))
		o.String("check", f.Check)
		o.String("message", f.Message)
		o.OptionalString("advice", f.Advice)
		o.OptionalString("file", f.File)
		o.OptionalInt("line", int64(f.Line))
		o.OptionalInt("column", int64(f.Column))
		o.OptionalString("key", f.Key)
	})
}

// array is a JSON array with one object for each of things.
func array[T any](things []T, write func(*rawjson.Object, *T)) []byte {
	elements := make([][]byte, 0, len(things))
	for i := range things {
		var o rawjson.Object
		write(&o, &things[i])
		elements = append(elements, o.Bytes())
	}
	return rawjson.Array(elements)
}
