package config

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	cfg := Parse("mcp.toml", []byte(`
[servers.s]
command = "${BIN}/run"
args = ["plain", "--key=${KEY}", "${GONE:-${KEY}}", "$$KEY"]
cwd = "~/x"
[servers.s.env]
B = "!pass show ${NOT_OURS}"
A = "!!${EMPTY}${MISSING}${MISSING}"

[servers.p]
plugin = "./$BIN/x"
config = { list = [1, { token = "${KEY:-none}" }], off = "${KEY:-${UNUSED}}" }

[servers.bad]
command = "x"
args = ["${"]
`))
	if len(cfg.Problems) > 0 {
		t.Fatal(cfg.Problems)
	}
	vars := map[string]string{"BIN": "bin", "KEY": "s3cret-key", "EMPTY": ""}
	r := Resolver{
		Lookup: func(n string) (string, bool) { v, ok := vars[n]; return v, ok },
		Home:   "/home/u",
		Command: func(context.Context, string, string) (string, error) {
			t.Error("a command ran")
			return "", nil
		},
	}
	for server, want := range map[string][]string{
		"s": {
			"3 servers.s.command secret=false command=false [{BIN set}]",
			"4 servers.s.args[1] secret=true command=false [{KEY set}]",
			"4 servers.s.args[2] secret=true command=false [{GONE default} {KEY set}]",
			"8 servers.s.env.A secret=true command=false [{EMPTY set} {MISSING missing}]",
			"7 servers.s.env.B secret=true command=true []",
		},
		"p": {
			"11 servers.p.plugin secret=false command=false [{BIN set}]",
			"12 servers.p.config.list[1].token secret=true command=false [{KEY set}]",
			"12 servers.p.config.off secret=true command=false [{KEY set}]",
		},
		"bad": nil,
	} {
		var got []string
		for _, ref := range cfg.Server(server).References(r) {
			got = append(got, fmt.Sprintf("%d %s secret=%v command=%v %v", ref.Line, ref.Key, ref.Secret, ref.Command, ref.Variables))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", server, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
