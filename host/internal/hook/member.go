package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/sdk/failure"
	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
)

// The points at which a hook may be asked, as its description names them.
const (
	pointServers = "servers"
	pointTools   = "tools"
	pointBefore  = "before"
	pointAfter   = "after"
)

// member is one hook of a chain: its entry, and the process that may outlive it.
type member struct {
	set      *config.Hook
	env      *Surroundings
	identity string // of what the process is started with
	process  *process
}

func newMember(h *config.Hook, env *Surroundings) *member {
	// Nothing is expanded here: an entry that reads the same is the same, until a
	// restart of the host.
	identity, err := json.Marshal([]any{h.Name, h.Dir, h.Plugin, h.Config, h.Env})
	if err != nil {
		identity = fmt.Appendf(nil, "%p", h) // never equal to another
	}
	return &member{set: h, env: env, identity: string(identity), process: newProcess(h, env)}
}

// about reports whether the hook is asked about a tool.
func (m *member) about(tool string) bool {
	return len(m.set.Tools) == 0 || slices.ContainsFunc(m.set.Tools, func(p string) bool { return name.Match(p, tool) })
}

// ask makes one request under the entry's timeout, if the hook wants to be asked at
// that point. The start of its process has a time of its own.
func (m *member) ask(ctx context.Context, point string, do func(context.Context, hookpb.HookClient) error) (asked bool, err error) {
	if wanted, err := m.process.wants(ctx, point); err != nil || !wanted {
		return false, err
	}
	_, use, err := m.process.ready(ctx)
	if err != nil {
		return false, err
	}
	defer use.done()
	ctx, cancel := context.WithTimeoutCause(ctx, m.set.Timeout, errTimeout)
	defer cancel()
	up := time.Now().Add(m.set.Timeout)
	if err := do(ctx, use.client); err != nil {
		// gRPC and the hook know the deadline, too, and may notice it before the context does.
		if context.Cause(ctx) == errTimeout || !time.Now().Before(up) {
			return true, fmt.Errorf("it did not answer within %s", m.set.Timeout)
		}
		return true, use.explain(ctx, err)
	}
	return true, nil
}

var errTimeout = errors.New("the hook's time is up")

// broken says what becomes of something about which the hook could not be asked.
func (m *member) broken(ctx context.Context, out *Outcome, err error, delivery failure.Delivery) *failure.Failure {
	if ctx.Err() != nil {
		f := failure.Classify(ctx.Err())
		f.Delivery, f.Origin = delivery, failure.OriginHost
		return f
	}
	if m.set.OnError == config.OnErrorOpen {
		notice := fmt.Sprintf("the hook %s was not asked: %s", m.set.Name, m.reason(err))
		out.Notices = append(out.Notices, Notice{Hook: m.set.Name, Text: notice})
		m.env.Log.Warn(notice)
		return nil
	}
	what := "nothing was sent"
	if delivery == failure.Answered {
		what = "the tool has run, its result is withheld"
	}
	f := failure.New(failure.ServerError, delivery, `the hook %s (%s:%d) does not work: %s; %s; mend it, or set on_error = "open" to do without it`,
		m.set.Name, m.set.File, m.set.Line, m.reason(err), what)
	f.Origin, f.Target = failure.OriginHost, target(m.set.Name)
	return f
}

// refusal is a hook's no, in its own words.
func (m *member) refusal(f *failure.Failure, delivery failure.Delivery) *failure.Failure {
	f.Delivery, f.Origin, f.Target = delivery, failure.OriginHost, target(m.set.Name)
	f.Message = fmt.Sprintf("the hook %s refuses: %s", m.set.Name, cmp.Or(m.conceal(f.Message), "it gave no reason"))
	return f
}

// targetPrefix is what the target of a failure begins with that is a hook's.
const targetPrefix = "hooks/"

func target(hook string) string { return targetPrefix + hook }

// Blamed is the hook that a failure comes from, "" for one that is no hook's.
func Blamed(f *failure.Failure) string {
	name, ok := strings.CutPrefix(f.Target, targetPrefix)
	if !ok || f.Origin != failure.OriginHost {
		return ""
	}
	return name
}

// objects refuses what is there and is no JSON object.
func (m *member) objects(raws ...[]byte) error {
	for _, raw := range raws {
		if len(raw) > 0 && (!json.Valid(raw) || bytes.TrimLeft(raw, " \t\r\n")[0] != '{') {
			return errors.New("its answer is not a JSON object")
		}
	}
	return nil
}

func (m *member) editServers(ctx context.Context, read *config.Config) (*config.Config, error) {
	var resp *hookpb.EditServersResponse
	asked, err := m.ask(ctx, pointServers, func(ctx context.Context, client hookpb.HookClient) (err error) {
		req := &hookpb.EditServersRequest{}
		for _, s := range read.Servers {
			req.Servers = append(req.Servers, &hookpb.Server{Name: s.Name, Entry: s.Entry()})
		}
		resp, err = client.EditServers(ctx, req)
		return err
	})
	if err != nil || !asked {
		return read, err
	}
	var edits []config.ServerEdit
	for _, e := range resp.GetEdits() {
		switch e := e.GetEdit().(type) {
		case *hookpb.ServerEdit_Set:
			// Never nil, which would remove it.
			edits = append(edits, config.ServerEdit{Name: e.Set.GetName(), Entry: append(json.RawMessage{}, e.Set.GetEntry()...)})
		case *hookpb.ServerEdit_Remove:
			edits = append(edits, config.ServerEdit{Name: e.Remove})
		}
	}
	if len(edits) == 0 {
		return read, nil
	}
	return read.Edit(m.set, edits)
}

func (m *member) editTools(ctx context.Context, server string, tools []Definition) ([]Definition, error) {
	req := &hookpb.EditToolsRequest{Server: server}
	for _, t := range tools {
		if m.about(name.Join(server, t.Name)) {
			req.Tools = append(req.Tools, &hookpb.Tool{Name: t.Name, Definition: t.JSON})
		}
	}
	if len(req.Tools) == 0 {
		return tools, nil
	}
	var resp *hookpb.EditToolsResponse
	asked, err := m.ask(ctx, pointTools, func(ctx context.Context, client hookpb.HookClient) (err error) {
		resp, err = client.EditTools(ctx, req)
		return err
	})
	if err != nil || !asked || len(resp.GetEdits()) == 0 {
		return tools, err
	}
	edited := slices.Clone(tools)
	for _, e := range resp.GetEdits() {
		i := slices.IndexFunc(edited, func(t Definition) bool { return t.Name == e.GetName() })
		if i < 0 || !m.about(name.Join(server, e.GetName())) {
			continue // it was hidden by an edit before, or is not the hook's to edit
		}
		if e.GetHide() {
			edited = slices.Delete(edited, i, i+1)
			continue
		}
		if err := m.objects(e.GetDefinition()); err != nil || len(e.GetDefinition()) == 0 {
			return nil, fmt.Errorf("its definition of %s is not a JSON object", name.Join(server, e.GetName()))
		}
		edited[i].JSON = e.GetDefinition()
	}
	return edited, nil
}

// reason is an error in one sentence, without secrets.
func (m *member) reason(err error) string {
	return strings.TrimSuffix(strings.TrimSpace(m.conceal(err.Error())), ".")
}

func (m *member) conceal(text string) string {
	if m.env.Conceal == nil {
		return text
	}
	return m.env.Conceal(text)
}
