package host

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/collet-dev/collet/host/internal/audit"
	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/telemetry"
)

// auditFile is where the audit log is when mcp.toml names no file, below StateDir.
const auditFile = "audit.jsonl"

// newAudit is the audit log that a configuration wants, nil for none. A path that
// cannot be resolved is a problem of the configuration.
func (h *Host) newAudit(c *config.Config) *audit.Log {
	if !c.Host.Telemetry.Audit {
		return nil
	}
	path, fault := c.Host.ResolveAudit(h.values)
	if fault != nil {
		c.Problems = append(c.Problems, *fault)
		return nil
	}
	return audit.New(audit.Options{
		Path:      cmp.Or(path, filepath.Join(h.opt.StateDir, auditFile)),
		Arguments: c.Host.Telemetry.AuditArguments, Log: h.opt.Log,
	})
}

// observe begins to tell OpenTelemetry of calls, if the options or the configuration
// want that. That it cannot be told is no reason not to make calls.
func (h *Host) observe(ctx context.Context, c *config.Config) {
	var said config.Telemetry
	if h.opt.Telemetry {
		said = c.Host.Telemetry
	}
	told, err := telemetry.New(ctx, telemetry.Options{
		Tracer: h.opt.TracerProvider, Meter: h.opt.MeterProvider,
		Traces: said.Traces, Metrics: said.OTLP(), Prometheus: said.Prometheus(),
		Version: h.opt.Version, Log: h.opt.Log,
		Servers: func() (all []telemetry.Server) {
			for _, s := range h.Servers() {
				all = append(all, telemetry.Server{Name: s.Name, State: s.State})
			}
			return all
		},
		Known: func(server string) bool { return h.hub.Server(server) != nil },
		Results: func() (int64, int) {
			bytes, count, err := h.results.Usage()
			if err != nil {
				h.opt.Log.Debug("kept results cannot be counted", "error", err)
			}
			return bytes, count
		},
		Lost: func() int64 {
			if h.audit == nil {
				return 0
			}
			return h.audit.Lost()
		},
	})
	if err != nil {
		h.opt.Log.Error("no telemetry", "error", err)
	}
	if told != nil {
		h.told, h.calls.Observer = told, told
	}
}

// exportWait bounds how long the end of a host waits for an endpoint that takes the
// last spans and metrics.
const exportWait = 2 * time.Second

// closeRecords ends what is told of calls, when there are none any more.
func (h *Host) closeRecords() {
	ctx, cancel := context.WithTimeout(context.Background(), exportWait)
	defer cancel()
	if err := h.told.Close(ctx); err != nil {
		h.opt.Log.Error("the last of the telemetry is lost", "error", err)
	}
	if h.audit != nil {
		_ = h.audit.Close() // every line that was lost has been told of
	}
}

// finished is told of every call that has ended.
func (h *Host) finished(e call.Event) {
	if h.audit != nil {
		r := recordOf(&e)
		r.Arguments = h.secrets.JSON(r.Arguments)
		h.audit.Write(r)
	}
	if h.events.heard() {
		h.tell(nil, &e)
	}
}

// started is told of every call that begins.
func (h *Host) started(e call.Event) {
	if h.events.heard() {
		h.tell(&e, nil)
	}
}

// tell copies what it is told, so that a call that nobody listens to costs nothing.
func (h *Host) tell(started, finished *call.Event) {
	var ev Event
	if started != nil {
		e := *started
		ev.CallStarted = &e
	}
	if finished != nil {
		e := *finished
		ev.CallFinished = &e
	}
	h.events.emit(ev)
}

// denied is told of every request over HTTP that was refused.
func (h *Host) denied(d guard.Denial) {
	if h.audit != nil {
		h.audit.Write(&audit.Record{
			Time: time.Now(), Kind: audit.Denial, Outcome: audit.Denied, Method: d.Method,
			Reason: string(d.Reason), Status: d.Status, Principal: d.Principal, Path: d.Path, From: d.From,
		})
	}
	h.told.Denied(d.Method, string(d.Reason))
	h.events.emit(Event{Denied: &d})
}

func recordOf(e *call.Event) *audit.Record {
	r := &audit.Record{
		Time: time.Now(), Kind: audit.Call, ID: e.ID, Parent: e.Parent,
		Caller: string(e.Caller), Principal: e.Owner, Method: e.Method, Server: e.Server, Tool: e.Tool,
		Outcome: audit.OK, Class: e.Class, Delivery: e.Delivery, Consent: e.Consent, Attempts: e.Attempts, Duration: e.Duration,
		ArgumentBytes: len(e.Arguments), ResultBytes: e.ResultBytes, Arguments: e.Arguments, Trace: e.Trace,
	}
	if e.Method != call.ToolsCall {
		r.Kind = audit.Request
	}
	switch {
	case e.Class != "":
		r.Outcome = audit.Failed
	case e.Asked:
		r.Outcome = audit.InputRequired
	case e.IsError:
		r.Outcome = audit.ToolError
	}
	return r
}
