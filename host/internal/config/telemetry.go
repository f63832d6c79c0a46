package config

import (
	"errors"
	"fmt"
)

// telemetry is the table of [host] that a Telemetry is read from.
const telemetry = "telemetry"

// Telemetry is the [host.telemetry] table.
type Telemetry struct {
	Traces  bool   // spans go to an OTLP endpoint
	Metrics string // "off" (default), "prometheus" (/metrics), "otlp" or "both"
	Audit   bool
	// AuditFile is unresolved text, see ResolveAudit; "" is the host's own place.
	AuditFile      string
	AuditArguments bool // arguments are part of audit records
}

// Prometheus says that metrics can be read at /metrics.
func (t Telemetry) Prometheus() bool { return t.Metrics == "prometheus" || t.Metrics == "both" }

// OTLP says that metrics go to an OTLP endpoint.
func (t Telemetry) OTLP() bool { return t.Metrics == "otlp" || t.Metrics == "both" }

var telemetryKeys = []key[Telemetry]{
	boolean("traces", "whether collet serve sends spans to the OTLP endpoint in OTEL_EXPORTER_OTLP_ENDPOINT", func(t *Telemetry) *bool { return &t.Traces }),
	word("metrics", "where collet serve publishes metrics: prometheus is /metrics of serve --http, otlp the endpoint in OTEL_EXPORTER_OTLP_ENDPOINT", "off",
		func(t *Telemetry) *string { return &t.Metrics }, "off", "prometheus", "otlp", "both"),
	{"audit", "whether to record each call as one JSON line: true, or the file to write to", `"anyOf":[{"type":"boolean"},{"type":"string","minLength":1}]`, "false",
		func(t *table, to *Telemetry) {
			switch v := t.values["audit"].(type) {
			case bool:
				to.Audit, to.AuditFile = v, ""
			case string:
				if file := t.text("audit"); file != "" {
					to.Audit, to.AuditFile = true, file
				}
			default:
				t.wrongType("audit", "true, false or a string", "write the word, or the file's path in quotes")
			}
		}},
	boolean("audit_arguments", "whether audit records include the arguments, with any secrets that are in them", func(t *Telemetry) *bool { return &t.AuditArguments }),
}

func readTelemetry(t *table, h *Host) {
	if t.layer == Project {
		// It would say where a person's calls are recorded, or that they are not.
		t.fault(telemetry, "has no effect in a project's file; write it into your own mcp.toml")
		return
	}
	if sub := t.table(telemetry); sub != nil {
		say(sub, telemetryKeys, &h.Telemetry, h, telemetry+".")
	}
}

// ResolveAudit is the path of audit, expanded, a relative one beside its file; ""
// when none is said.
func (h Host) ResolveAudit(r Resolver) (path string, fault *Problem) {
	text := h.Telemetry.AuditFile
	if text == "" {
		return "", nil
	}
	said := h.said[telemetry+".audit"]
	e := &expander{lookup: r.lookup, home: r.Home}
	path, err := e.expand(text)
	switch {
	case err == nil && len(e.unset) > 0:
		err = fmt.Errorf("%s is not set; set it or remove the entry", e.unset[0])
	case err == nil && path == "":
		err = errors.New("is empty; give it a value or remove it")
	}
	if err != nil {
		at := said.at.at()
		return "", &Problem{File: said.File, Line: at.line, Column: at.column, Key: "host.telemetry.audit", Message: err.Error() + "; nothing is recorded"}
	}
	return absolute(directory(said.File), path), nil
}
