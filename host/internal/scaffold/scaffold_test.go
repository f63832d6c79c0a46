package scaffold

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"text/template"

	"github.com/collet-dev/collet/host/internal/plugins/install"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		want string // "" is no error
	}{
		{Plan{Name: "weather", Kind: Tools}, ""},
		{Plan{Name: "a", Kind: Hook}, ""},
		{Plan{Name: "my_own-2", Kind: Tools}, ""},
		{Plan{Name: "docs", Kind: URL, URL: "https://docs.example/mcp?v=1"}, ""},
		{Plan{Name: "files", Kind: Command, Command: []string{"npx", "-y", "x"}}, ""},

		{Plan{Name: "", Kind: Tools}, "cannot be the name"},
		{Plan{Name: "Weather", Kind: Tools}, "lower-case"},
		{Plan{Name: "../weather", Kind: Tools}, "cannot be the name"},
		{Plan{Name: "-x", Kind: Tools}, "cannot be the name"},
		{Plan{Name: "x-", Kind: Tools}, "cannot be the name"},
		{Plan{Name: "a__b", Kind: Tools}, "single - or _"},
		{Plan{Name: strings.Repeat("a", 33), Kind: Tools}, "at most 32"},
		{Plan{Name: "collet-plugin-weather", Kind: Tools}, `call it "weather"`},
		{Plan{Name: "docs", Kind: URL, URL: "docs.example"}, "http:// or https://"},
		{Plan{Name: "docs", Kind: URL, URL: "ftp://docs.example"}, "http:// or https://"},
		{Plan{Name: "docs", Kind: URL, URL: "https://me:geheim@docs.example"}, "credential"},
		{Plan{Name: "files", Kind: Command}, "command"},
		{Plan{Name: "x", Kind: "colour"}, "no kind"},
	} {
		err := c.plan.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.plan, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("a secret is in %v", err)
		}
		if files, ferr := c.plan.Files(); (ferr == nil) != (err == nil) || err != nil && files != nil {
			t.Errorf("%+v: Files says %v", c.plan, ferr)
		}
	}
}

// What the user gives stands in Go programs as itself, whatever it is.
func TestFiles(t *testing.T) {
	nasty := "a \"b\" `c` \\ [[.Name]] {{.Os}} $HOME"
	for _, plan := range []Plan{
		{Name: "weather", Kind: Tools},
		{Name: "docs", Kind: URL, URL: "https://docs.example/m%20cp?a=\"b\"&c=[[.Name]]"},
		{Name: "files", Kind: Command, Command: []string{"node", nasty}},
		{Name: "quiet", Kind: Hook},
	} {
		files, err := plan.Files()
		if err != nil {
			t.Fatal(err)
		}
		byPath := map[string]string{}
		for _, f := range files {
			byPath[f.Path] = string(f.Data)
			if strings.HasSuffix(f.Path, ".go") {
				if pretty, err := format.Source(f.Data); err != nil || !bytes.Equal(pretty, f.Data) {
					t.Errorf("%s: %s is not formatted: %v", plan.Name, f.Path, err)
				}
			}
		}
		for _, want := range []string{"main.go", "main_test.go", "README.md", "Makefile", "go.mod", "mcp.toml", ".gitignore", ".goreleaser.yaml", ".github/workflows/release.yml"} {
			if byPath[want] == "" {
				t.Errorf("%s: there is no %s", plan.Name, want)
			}
		}
		if has := byPath["testdata/"+plan.Name+".jsonl"] != ""; has != (plan.Kind != Hook) {
			t.Errorf("%s: golden transcript: %v", plan.Name, has)
		}
		if plan.Kind == Command && !strings.Contains(byPath["main.go"], fmt.Sprintf("%q", nasty)) {
			t.Errorf("the command is not in main.go as it is:\n%s", byPath["main.go"])
		}
		if plan.Kind == URL && !strings.Contains(byPath["main.go"], fmt.Sprintf("endpoint = %q", plan.URL)) {
			t.Errorf("the URL is not in main.go as it is:\n%s", byPath["main.go"])
		}
	}
}

// The names that a release's files get are those that plugins install looks for.
func TestReleaseNames(t *testing.T) {
	files, err := (&Plan{Name: "my_own-2", Kind: Tools}).Files()
	if err != nil {
		t.Fatal(err)
	}
	var config string
	for _, f := range files {
		if f.Path == ".goreleaser.yaml" {
			config = string(f.Data)
		}
	}
	names := regexp.MustCompile(`name_template: "?([^"\n]+)"?`).FindAllStringSubmatch(config, -1)
	project := regexp.MustCompile(`project_name: (\S+)`).FindStringSubmatch(config)
	if len(names) != 2 || project == nil {
		t.Fatalf("%s", config)
	}
	asset := template.Must(template.New("").Parse(names[0][1]))
	dir, sums := t.TempDir(), ""
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			var name strings.Builder
			if err := asset.Execute(&name, map[string]string{"ProjectName": project[1], "Os": system, "Arch": arch}); err != nil {
				t.Fatal(err)
			}
			if system == "windows" {
				name.WriteString(".exe") // goreleaser's, for format binary
			}
			data := []byte(system + arch)
			sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), &name)
			if err := os.WriteFile(filepath.Join(dir, name.String()), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, names[1][1]), []byte(sums), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := install.Fetcher{}.Find(context.Background(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(runtime.GOOS+runtime.GOARCH))); found.Name != "my_own-2" || found.SHA256 != want {
		t.Errorf("found %+v, want my_own-2 with %s", found, want)
	}
}

func TestFindSDK(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"../../..", "../../../sdk", root} {
		if got, err := FindSDK(dir); err != nil || got != filepath.Join(root, "sdk") {
			t.Errorf("%s: %s, %v", dir, got, err)
		}
	}
	for _, dir := range []string{"..", "../..", t.TempDir(), "no-such"} {
		if got, err := FindSDK(dir); err == nil {
			t.Errorf("%s is taken for %s", dir, got)
		}
	}
	sdk, err := os.ReadFile(filepath.Join(root, "sdk", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(sdk), "\ngo "+goVersion+"\n") {
		t.Errorf("the SDK needs another version of Go than %s, which go.mod of a plugin has without it", goVersion)
	}
}
