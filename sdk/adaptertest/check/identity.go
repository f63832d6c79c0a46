package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

const (
	describeLimit  = 2 * time.Second
	noCookieLimit  = 5 * time.Second
	maxDescription = 1 << 20 // what a host reads of it
)

// describes holds the sub-command against the RPC.
func describes(ctx context.Context, s *subject) error {
	said, err := s.describeCommand(ctx, nil)
	if err != nil {
		return err
	}
	var d describe.Description
	if err := json.Unmarshal(said, &d); err != nil {
		return fmt.Errorf("%s describe prints no description: %w; it printed %q", s.base(), err, excerpt.Of(string(said), maxQuoted))
	}
	if n := s.up.proxied(); n > 0 {
		return fmt.Errorf("%s describe used the network: it asked a proxy %d times", s.base(), n)
	}
	offline := ""
	if withoutNetwork == nil {
		offline = "whether it works without a network was only looked at with a proxy: this system cannot cut it off"
	} else if alone, err := s.describeCommand(ctx, withoutNetwork); errors.Is(err, errNotStarted) {
		offline = "whether it works without a network was only looked at with a proxy: this system does not allow to cut it off"
	} else if err != nil {
		return fmt.Errorf("without a network: %w", err)
	} else if !bytes.Equal(alone, said) {
		return fmt.Errorf("without a network %s describe prints something else: %q", s.base(), excerpt.Of(string(alone), maxQuoted))
	}
	if s.desc == nil {
		return skip("", "describe works, but there is no RPC to compare it with: %v", s.startErr)
	}
	if differs := differences(&d, s.desc); len(differs) > 0 {
		return fmt.Errorf("describe and the Describe RPC disagree on: %s", strings.Join(differs, ", "))
	}
	if offline != "" {
		return passing("%s", offline)
	}
	return nil
}

// errNotStarted is a start that our own doing kept from happening.
var errNotStarted = errors.New("not started")

func (s *subject) describeCommand(ctx context.Context, prepare func(*exec.Cmd)) ([]byte, error) {
	// The variables it declares are not part of it: describe has to work without.
	proxy := s.up.proxyURL()
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"="+proxy)
	}
	s.up.forget()
	r, err := s.run([]string{"describe"}, s.env(append(env, "NO_PROXY=", "no_proxy=")...), prepare)
	if err != nil {
		return nil, fmt.Errorf("%s describe: %w: %w", s.base(), errNotStarted, err)
	}
	ctx, cancel := s.within(ctx, describeLimit)
	defer cancel()
	ended := r.wait(ctx)
	r.close()
	switch out := r.stdout.text(); {
	case !ended:
		return nil, fmt.Errorf("%s describe had not ended after %s%s", s.base(), s.patient(describeLimit), r.quote())
	case !r.cmd.ProcessState.Success():
		return nil, fmt.Errorf("%s describe failed (%s)%s", s.base(), r.cmd.ProcessState, r.quote())
	case len(out) > maxDescription:
		return nil, fmt.Errorf("%s describe printed more than %d bytes", s.base(), maxDescription)
	default:
		return out, nil
	}
}

// differences names what the two descriptions do not agree on.
func differences(d *describe.Description, r *adapterpb.DescribeResponse) (names []string) {
	for _, c := range []struct {
		name string
		same bool
	}{
		{"name", d.Name == r.GetName()}, {"version", d.Version == r.GetVersion()}, {"sdkVersion", d.SDKVersion == r.GetSdkVersion()},
		{"summary", d.Summary == r.GetSummary()}, {"homepage", d.Homepage == r.GetHomepage()}, {"license", d.License == r.GetLicense()},
		{"configSchema", sameJSON(d.ConfigSchema, r.GetConfigSchema())},
		{"features", slices.Equal(d.Features, r.GetFeatures())}, {"forwardMethods", slices.Equal(d.ForwardMethods, r.GetForwardMethods())},
		{"environment", slices.Equal(d.Environment, r.GetEnvironment())}, {"mcpVersions", slices.Equal(d.MCPVersions, r.GetMcpVersions())},
		{"defaultTimeout", d.DefaultTimeout == r.GetDefaultTimeout().AsDuration()},
		{"defaultStartTimeout", d.DefaultStartTimeout == r.GetDefaultStartTimeout().AsDuration()},
	} {
		if !c.same {
			names = append(names, c.name)
		}
	}
	return names
}

// sameJSON compares two documents by their bytes but for white space.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(unescaped(x.Bytes()), unescaped(y.Bytes()))
}

// unescaped undoes what encoding/json does to <, > and & in strings.
func unescaped(b []byte) []byte {
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b)))
}

var (
	pluginName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`) })
	// https://semver.org, its own expression without the build's number of groups.
	semver = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	})
	variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	revision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`) })
)

// knownFeatures are the feature strings of docs/contract.md.
var knownFeatures = []string{"ask", featureCalls, "forward", "input-required", "paged-tools", "reconfigure"}

// maxPluginName is the longest part of collet-plugin-<name>.
const maxPluginName = 64

// identity looks at what it says of itself.
func identity(_ context.Context, s *subject) error {
	d := s.desc
	var wrong []string
	add := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	add(pluginName().MatchString(d.GetName()) && len(d.GetName()) <= maxPluginName, "name %q is not letters a-z, digits, - and _", excerpt.Of(d.GetName(), 80))
	add(semver().MatchString(d.GetVersion()), "version %q is not MAJOR.MINOR.PATCH without a leading v", excerpt.Of(d.GetVersion(), 80))
	add(!strings.ContainsAny(d.GetSummary(), "\r\n"), "summary has more than one line")
	for _, f := range d.GetFeatures() {
		add(slices.Contains(knownFeatures, f), "feature %q is unknown here: it is misspelt, or newer than this collet, which knows %s", excerpt.Of(f, 80), strings.Join(knownFeatures, " "))
	}
	add(len(d.GetForwardMethods()) == 0 || slices.Contains(d.GetFeatures(), "forward"), `forward_methods are named, and the feature "forward" is not`)
	for _, name := range d.GetEnvironment() {
		add(variable().MatchString(name), "environment names %q, which is no variable's name", excerpt.Of(name, 80))
	}
	for _, v := range d.GetMcpVersions() {
		add(revision().MatchString(v), "mcp_versions has %q, and a revision is a date", excerpt.Of(v, 80))
	}
	add(d.GetDefaultTimeout().AsDuration() >= 0 && d.GetDefaultStartTimeout().AsDuration() >= 0, "a default timeout is negative")
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// noCookie starts it as a person would.
func noCookie(ctx context.Context, s *subject) error {
	r, err := s.run(nil, s.env(), nil)
	if err != nil {
		return fmt.Errorf("it cannot be started: %w", err)
	}
	ctx, cancel := s.within(ctx, noCookieLimit)
	defer cancel()
	ended := r.wait(ctx)
	r.close()
	switch {
	case !ended:
		return fmt.Errorf("without COLLET_PLUGIN it was still running after %s", s.patient(noCookieLimit))
	case r.cmd.ProcessState.ExitCode() != 1:
		return fmt.Errorf("without COLLET_PLUGIN it ended with %s, not exit status 1%s", r.cmd.ProcessState, r.quote())
	case len(bytes.TrimSpace(r.stdout.text()))+len(bytes.TrimSpace(r.stderr.text())) == 0:
		return errors.New("without COLLET_PLUGIN it ended without a word, and leaves a person wondering what it is")
	}
	return nil
}

func isObject(b []byte) bool { return gjson.ValidBytes(b) && gjson.ParseBytes(b).IsObject() }
