package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/plugins/attestation"
	"github.com/collet-dev/collet/host/internal/plugins/install"
)

// The list says who attested an installed plugin, as long as its file is the one that
// was installed.
func TestPluginsListNamesTheSigner(t *testing.T) {
	store := install.Store{Dir: t.TempDir()}
	const signer = "github.com/acme/collet-plugin-acme/.github/workflows/release.yml@refs/tags/v1.4.0"
	sums := map[string]string{}
	for name, by := range map[string]*attestation.Signer{"acme": {Identity: "https://" + signer}, "plain": nil} {
		staged, err := store.Stage(t.Context(), name, strings.NewReader(name), "")
		if err != nil {
			t.Fatal(err)
		}
		staged.Source, staged.Version, staged.Attested = "github.com/acme/collet-plugin-"+name, "v1.4.0", by
		if err := store.Use(t.Context(), staged); err != nil {
			t.Fatal(err)
		}
		sums[name] = staged.SHA256
	}
	at := func(name string) string { return filepath.Join(store.Dir, "collet-plugin-"+name) }
	for _, c := range []struct {
		what            string
		plugin          host.Plugin
		signer, version string
	}{
		{"as it was installed", host.Plugin{Name: "acme", Path: at("acme"), State: host.PluginPinned, SHA256: sums["acme"], Servers: []string{"a"}}, signer, "v1.4.0"},
		{"used by no server", host.Plugin{Name: "acme", Path: at("acme")}, signer, "v1.4.0"},
		{"another file since", host.Plugin{Name: "acme", Path: at("acme"), State: host.PluginChanged, SHA256: sums["plain"]}, "", ""},
		{"of the same name elsewhere", host.Plugin{Name: "acme", Path: filepath.Join(t.TempDir(), "collet-plugin-acme"), State: host.PluginPinned, SHA256: sums["acme"]}, "", ""},
		{"attested by nobody", host.Plugin{Name: "plain", Path: at("plain"), State: host.PluginPinned, SHA256: sums["plain"]}, "", "v1.4.0"},
	} {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			err := pluginsListRun(t.Context(), &pluginsListOptions{
				Streams: &terminal.Streams{Out: &out, Err: &out}, Store: store, JSON: asJSON,
				Host: func(context.Context) (openHost, error) { return &fakeHost{plugins: []host.Plugin{c.plugin}}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if !asJSON {
				want := signer
				if c.signer == "" {
					want = "-"
				}
				if !regexp.MustCompile(`(?m)^` + c.plugin.Name + ` .* ` + regexp.QuoteMeta(want) + ` +` + regexp.QuoteMeta(c.plugin.Path) + `$`).Match(out.Bytes()) {
					t.Errorf("%s: %s", c.what, out.String())
				}
				continue
			}
			said := gjson.GetBytes(out.Bytes(), "plugins.0")
			if got := strings.TrimPrefix(said.Get("signer").String(), "https://"); got != c.signer || said.Get("version").String() != c.version {
				t.Errorf("%s: %s", c.what, out.String())
			}
		}
	}
}
