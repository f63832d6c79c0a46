package check

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/launch"
)

// The limits of single steps. All but those that the contract itself names are
// generous: they only keep a verification from hanging.
const (
	startLimit     = 10 * time.Second // spawn to the first answer
	configureLimit = 5 * time.Second  // research and contract: a slow upstream is Watch's to report
	stepLimit      = 15 * time.Second // one RPC
	stopLimit      = 10 * time.Second // exceeds launch's own steps
)

// mark is the variable by which a plugin's descendants are found, wherever they hid.
const mark = "COLLET_VERIFY_RUN"

// subject is the plugin under test.
type subject struct {
	opt  Options
	root string // the only directory it is told of
	mark string // the variable, NAME=VALUE, that all its processes have
	up   *upstream

	hook bool                        // it is the second kind of plugin
	desc *adapterpb.DescribeResponse // nil until it answered Describe
	// asked: desc, startErr and configErr are final.
	asked               bool
	startErr, configErr error
}

func newSubject(opt Options) (*subject, error) {
	root, err := os.MkdirTemp("", "collet-verify")
	if err != nil {
		return nil, fmt.Errorf("a directory for the plugin to write to: %w", err)
	}
	up, err := openUpstream(opt.Upstream)
	if err != nil {
		_ = os.RemoveAll(root)
		return nil, err
	}
	return &subject{opt: opt, root: root, mark: mark + "=" + rand.Text(), up: up}, nil
}

// close leaves nothing behind, directories that were made unreadable included.
func (s *subject) close() {
	s.up.close()
	s.sweep()
	_ = filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(s.root)
}

// sweep kills whatever processes of the plugin are left.
func (s *subject) sweep() { killMarked(s.mark) }

func (s *subject) patient(d time.Duration) time.Duration {
	return d * time.Duration(s.opt.Patience) / time.Duration(s.opt.hurry)
}

func (s *subject) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.patient(d))
}

// env is the environment of a plugin's process: what a host gives it, with every place
// for files in root.
func (s *subject) env(more ...string) []string {
	env := launch.ShortEnv(s.opt.Environ, s.desc.GetEnvironment()...)
	own := []string{}
	for _, name := range []string{"HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		own = append(own, name+"="+s.root)
	}
	return overlay(env, slices.Concat(own, s.opt.Env, more, []string{s.mark}))
}

// overlay puts variables in place of those of the same name.
func overlay(env, over []string) []string {
	var out []string
	last := map[string]string{}
	for _, kv := range over {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = kv
	}
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); last[name] == "" {
			out = append(out, kv)
		}
	}
	for _, kv := range over {
		if name, _, _ := strings.Cut(kv, "="); last[name] == kv {
			out = append(out, kv)
			last[name] = "-" // only once
		}
	}
	return out
}

// config is a config with the fake upstream's URL in its place.
func (s *subject) config(raw json.RawMessage) []byte {
	return []byte(strings.ReplaceAll(string(raw), Placeholder, s.up.url()))
}

// usesUpstream says whether the plugin's ordinary config leads to the fake upstream.
func (s *subject) usesUpstream() bool { return strings.Contains(string(s.opt.Config), Placeholder) }

// ownUpstream says whether what is called there is ours, and may be called at will.
func (s *subject) ownUpstream() bool { return s.usesUpstream() && s.opt.Upstream == nil }

// learn starts the plugin once and asks what it is and whether it takes its settings,
// so that checks which need that fail once, and not each with the same words.
func (s *subject) learn(ctx context.Context) {
	if s.asked {
		return
	}
	s.asked = true
	p, err := s.start(ctx)
	if err != nil {
		s.startErr = err
		return
	}
	defer s.sweep()
	step, cancel := s.within(ctx, stepLimit)
	desc, err := p.Describe(step, &adapterpb.DescribeRequest{})
	cancel()
	if err != nil {
		err = p.said(err)
	}
	p.close() // before there is another one
	if err != nil {
		s.startErr = broken("Describe: %w", err)
		return
	}
	s.desc = desc
	q, err := s.start(ctx) // again: now with the variables it declares
	if err != nil {
		s.startErr = err
		return
	}
	defer q.close()
	s.configErr = q.configure(ctx, s.opt.Config)
}

// usable says why a check cannot be tried.
func (s *subject) usable(ctx context.Context, c *check) error {
	s.learn(ctx)
	if s.startErr != nil && !slices.Contains(beforeStart, c.name) {
		return skip(`repair what "stdout" names first`, "the plugin does not start or says not what it is")
	}
	if s.configErr != nil && (c.configured || c.name == "secrets") {
		return skip("give it settings it accepts, with --config; see the check configure", "it does not take its settings: %v", s.configErr)
	}
	return nil
}

// beforeStart are the checks that make sense with a plugin that does not start.
var beforeStart = []string{"describe", "no-cookie", "stdout", "environment"}
