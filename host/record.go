package host

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/collet-dev/collet/host/internal/audit"
	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/front/guard"
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

func (h *Host) closeAudit() {
	if h.audit != nil {
		_ = h.audit.Close() // every line that was lost has been told of
	}
}

// finished is told of every call that has ended.
func (h *Host) finished(e call.Event) {
	if h.audit != nil {
		h.audit.Write(recordOf(&e))
	}
	h.events.emit(Event{CallFinished: &e})
}

// denied is told of every request over HTTP that was refused.
func (h *Host) denied(d guard.Denial) {
	if h.audit != nil {
		h.audit.Write(&audit.Record{
			Time: time.Now(), Kind: audit.Denial, Outcome: audit.Denied, Method: d.Method,
			Reason: string(d.Reason), Status: d.Status, Principal: d.Principal, Path: d.Path, From: d.From,
		})
	}
	h.events.emit(Event{Denied: &d})
}

func recordOf(e *call.Event) *audit.Record {
	r := &audit.Record{
		Time: time.Now(), Kind: audit.Call, ID: e.ID, Parent: e.Parent,
		Caller: string(e.Caller), Principal: e.Owner, Method: e.Method, Server: e.Server, Tool: e.Tool,
		Outcome: audit.OK, Class: e.Class, Delivery: e.Delivery, Attempts: e.Attempts, Duration: e.Duration,
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
