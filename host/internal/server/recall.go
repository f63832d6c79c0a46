package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/snapshot"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
)

// observation is what a server offered at one moment.
type observation struct {
	key   snapshot.Key
	info  []byte
	forth []string // methods
	tools []*catalog.Tool
}

// key says what a run of the plugin at path, started now under set, tells of. It
// is nil when nothing is kept.
func (s *Server) key(set *config.Server, path string) *snapshot.Key {
	if s.env.Snapshots == nil {
		return nil
	}
	plugin, desc, err := s.env.Describer.Known(path)
	if err != nil {
		s.env.Log.Debug("what the server offers is not kept: its plugin cannot be read", "server", s.name, "error", err)
		return nil
	}
	return s.keyOf(set, plugin, desc)
}

// keyOf has a place of its own for hosts that let servers ask: to those, servers
// may offer more. desc is what the plugin says of itself, nil when that is not known.
func (s *Server) keyOf(set *config.Server, plugin string, desc *describe.Description) *snapshot.Key {
	asks := s.env.Asks != nil && s.env.Asks()
	if desc != nil && len(desc.Environment) > 0 {
		plugin += " " + digest(s.variables(desc.Environment))
	}
	if s.env.Tools != nil {
		plugin += s.env.Tools.Edition()
	}
	return &snapshot.Key{
		Server: s.name, Place: strconv.FormatBool(asks) + " " + home(set),
		Entry: s.reached(set), Plugin: plugin,
	}
}

// reached is a digest of what decides which server is reached, and as whom: the entry
// as written and with its values resolved, and the variables that it names for its
// child. A value that is a command counts as written: to look for what is kept runs
// nothing.
func (s *Server) reached(set *config.Server) string {
	r := s.env.Resolver
	r.Command = func(_ context.Context, script, _ string) (string, error) { return "!" + script, nil }
	res, err := set.Resolve(context.Background(), r)
	if err != nil { // nothing was ever kept under it: it does not start so
		return digest([]any{reach(set), "unresolved"})
	}
	return digest([]any{reach(set), res, s.variables(set.InheritEnv.Names)})
}

// variables are those of the host's environment that have one of the names.
func (s *Server) variables(names []string) []string {
	var out []string
	for _, kv := range s.env.Environ {
		if k, _, _ := strings.Cut(kv, "="); slices.Contains(names, k) {
			out = append(out, kv)
		}
	}
	slices.Sort(out)
	return out
}

func digest(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // there are only texts in it
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// EntrySum is a digest of everything in an entry that decides which server is
// reached, as written.
func EntrySum(set *config.Server) string {
	sum := sha256.Sum256(reach(set))
	return hex.EncodeToString(sum[:])
}

// Recall takes over what the server offered another host under its present
// settings, if it has not been asked by this one yet and its plugin is the same. It
// starts nothing. A plugin that is missing now may come back as it was, so that it
// keeps nothing from being recalled.
func (s *Server) Recall(ctx context.Context) {
	if s.env.Snapshots == nil {
		return
	}
	if _, listed := s.Tools(); listed {
		return
	}
	set := s.Settings()
	key := *s.present(ctx, set)
	snap, err := s.env.Snapshots.Read(key)
	if err != nil {
		s.env.Log.Debug("what the server offered cannot be recalled", "server", s.name, "error", err)
	}
	if snap == nil {
		return
	}
	k := s.newKept(key, snap.Sum)
	tools := k.recall(s.name, snap.Tools)
	a := s.review(ctx, set, tools, false)
	s.mu.Lock()
	late := s.listed || s.Settings() != set || s.life.state == Stopped
	if !late {
		s.tools, s.recalled, s.asked, s.trouble, s.kept = tools, true, snap.Asked, snap.Trouble, k
		s.approveLocked(a)
		s.introduced = introduction(snap.Info, snap.Methods)
		s.movedLocked()
	}
	s.mu.Unlock()
	if !late && s.env.Listed != nil {
		s.env.Listed(s.name)
	}
}

// present is the key of what there may be to recall.
func (s *Server) present(ctx context.Context, set *config.Server) *snapshot.Key {
	path, err := s.pluginFile(ctx, set)
	if err != nil {
		return s.keyOf(set, "", nil)
	}
	plugin, desc, err := s.env.Describer.Known(path)
	if err != nil { // one that cannot be read is as one that is missing
		return s.keyOf(set, "", nil)
	}
	return s.keyOf(set, plugin, desc)
}

// Recalled reports whether Tools are those that the server offered another host,
// and it has not been asked by this one yet: when it said so, and why it could not be
// started since, if that was tried.
func (s *Server) Recalled() (asked time.Time, trouble *Trouble, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.recalled || s.listed {
		return time.Time{}, nil, false
	}
	if t := s.trouble; t != nil {
		f := notSent(failure.Unknown, "%s", t.Message)
		for c := range failure.Canceled {
			if c.String() == t.Class {
				f.Class = c
			}
		}
		f.Misconfigured, f.Remote = t.Misconfigured, s.Settings().URL != ""
		trouble = &Trouble{At: t.At, Failure: f}
	}
	return s.asked, trouble, true
}

// Trouble is why a server could not be started, and when that was.
type Trouble struct {
	At      time.Time
	Failure *Failure
}

// keepTrouble has it kept, beside what the server offered, why it could not be
// started. Failures that say nothing of the server are none.
func (s *Server) keepTrouble(set *config.Server, fail *Failure) {
	if s.env.Snapshots == nil || fail.Class == failure.Canceled {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), findWait)
	defer cancel()
	why := &snapshot.Trouble{At: time.Now(), Class: fail.Class.String(), Message: s.Redact(fail.Message), Misconfigured: fail.Misconfigured}
	if err := s.env.Snapshots.Fail(*s.present(ctx, set), why); err != nil {
		s.env.Log.Debug("why the server did not start cannot be kept", "server", s.name, "error", err)
	}
}

// findWait bounds the look for a plugin's file.
const findWait = 5 * time.Second

// keepLocked has what the server offers now kept, in the background: r is what it
// was told by. What is to be kept already is overtaken by it.
func (s *Server) keepLocked(r *run) {
	if r.key == nil || !s.listed {
		return
	}
	s.unkept = &observation{key: *r.key, tools: s.tools}
	if in := s.introduced; in != nil {
		s.unkept.info, s.unkept.forth = in.raw, in.Methods
	}
	if !s.keeping {
		s.keeping = true
		s.wg.Go(s.keep)
	}
}

func (s *Server) keep() {
	for {
		s.mu.Lock()
		o, was := s.unkept, s.kept
		s.unkept, s.keeping = nil, o != nil
		s.mu.Unlock()
		if o == nil {
			return
		}
		if was != nil && !slices.Equal(was.tools, o.tools) {
			was.verdicts() // read while they are there: tools that stay as they were go by them
		}
		snap := &snapshot.Snapshot{Info: json.RawMessage(o.info), Methods: o.forth, Tools: make([]catalog.Offer, len(o.tools))}
		for i, t := range o.tools {
			snap.Tools[i] = t.Offer()
		}
		if err := s.env.Snapshots.Keep(o.key, snap); err != nil {
			s.env.Log.Warn("what the server offers cannot be kept for the next start", "server", s.name, "error", err)
		}
		if snap.Sum != "" {
			k := s.newKept(o.key, snap.Sum)
			k.tools = o.tools
			s.mu.Lock()
			s.kept = k
			s.mu.Unlock()
		}
	}
}
