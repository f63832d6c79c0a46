package config

import (
	"strings"
	"testing"
)

func TestTelemetry(t *testing.T) {
	off := Telemetry{Metrics: "off"}
	for _, c := range []struct {
		text     string
		want     Telemetry
		problems string
	}{
		{"", off, ""},
		{"[host.telemetry]\n", off, ""},
		{"[host.telemetry]\ntraces = true\nmetrics = 'prometheus'\naudit = true\naudit_arguments = true\n",
			Telemetry{Traces: true, Metrics: "prometheus", Audit: true, AuditArguments: true}, ""},
		{"host.telemetry = { audit = '~/a', metrics = 'otlp' }", Telemetry{Metrics: "otlp", Audit: true, AuditFile: "~/a"}, ""},
		{"[host.telemetry]\naudit = false\n", off, ""},
		// A fault in one key leaves the others.
		{"[host.telemetry]\nmetrics = true\ntraces = true\n", Telemetry{Traces: true, Metrics: "off"},
			"m:2: host.telemetry.metrics: must be \"off\", \"prometheus\", \"otlp\" or \"both\", not a boolean; write one of these words in quotes"},
		{"[host.telemetry]\nmetrics = 'prom'\n", off, `m:2: host.telemetry.metrics: "prom" is not allowed; write "off", "prometheus", "otlp" or "both"`},
		{"[host.telemetry]\naudit = 1\n", off, "m:2: host.telemetry.audit: must be true, false or a string, not an integer; write the word, or the file's path in quotes"},
		{"[host.telemetry]\naudit = ''\n", off, "m:2: host.telemetry.audit: must not be empty; give it a value or remove it"},
		{"[host.telemetry]\n\naudit_argument = true\n", off, "m:3: host.telemetry.audit_argument: unknown key; did you mean audit_arguments?"},
		{"[host]\ntelemetry = true\n", off, "m:2: host.telemetry: must be a table, not a boolean; write [host.telemetry] above its keys"},
	} {
		cfg := Parse("m", []byte(c.text))
		if cfg.Host.Telemetry != c.want || strings.TrimSpace(problems(cfg)) != c.problems {
			t.Errorf("%s\n%+v, want %+v\n%s\nwant %s", c.text, cfg.Host.Telemetry, c.want, problems(cfg), c.problems)
		}
	}
}

// A project says nothing of what is recorded: neither on nor off.
func TestTelemetryOfProject(t *testing.T) {
	const user = "[host.telemetry]\naudit = '/u/audit'\n"
	for _, project := range []string{
		"[host.telemetry]\naudit = false\n", "[host.telemetry]\naudit = '/p/audit'\naudit_arguments = true\n",
		"host.telemetry.traces = true", "[host.telemetry]\n",
	} {
		c := layered(user, project)
		if want := (Telemetry{Metrics: "off", Audit: true, AuditFile: "/u/audit"}); c.Host.Telemetry != want {
			t.Errorf("%s makes it %+v", project, c.Host.Telemetry)
		}
		if !strings.Contains(problems(c), "/p/mcp.toml:1: host.telemetry: has no effect in a project's file") {
			t.Errorf("%s: %s", project, problems(c))
		}
	}
}

func TestResolveAudit(t *testing.T) {
	r := Resolver{Home: "/home/u", Lookup: func(k string) (string, bool) { v, ok := map[string]string{"D": "/var"}[k]; return v, ok }}
	for _, c := range []struct{ value, want, problem string }{
		{"true", "", ""},
		{"'audit.jsonl'", "/etc/collet/audit.jsonl", ""},
		{"'~/audit.jsonl'", "/home/u/audit.jsonl", ""},
		{"'$D/audit.jsonl'", "/var/audit.jsonl", ""},
		{"'$NO/audit.jsonl'", "", "/etc/collet/mcp.toml:2: host.telemetry.audit: NO is not set; set it or remove the entry; nothing is recorded"},
		{"'${NO:-}'", "", "/etc/collet/mcp.toml:2: host.telemetry.audit: is empty; give it a value or remove it; nothing is recorded"},
	} {
		path, fault := Parse("/etc/collet/mcp.toml", []byte("[host.telemetry]\naudit = "+c.value)).Host.ResolveAudit(r)
		problem := ""
		if fault != nil {
			problem = fault.Error()
		}
		if path != c.want || problem != c.problem {
			t.Errorf("%s: %q %q, want %q %q", c.value, path, problem, c.want, c.problem)
		}
	}
}
