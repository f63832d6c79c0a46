package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
)

func finding(kind host.Kind) host.Finding {
	return host.Finding{Kind: kind, Check: "start", Message: "it is \x1b[31mred", Advice: "do something"}
}

func diagnosed(kinds ...host.Kind) *host.Diagnosis {
	d := &host.Diagnosis{Host: host.HostDiagnosis{Version: "1", ConfigFiles: []string{"mcp.toml"}}}
	for i, k := range kinds {
		s := host.ServerDiagnosis{Name: string(rune('a' + i)), State: "ready", Listed: true, Tools: 1}
		if k != "" {
			s.Findings = append(s.Findings, finding(k))
		}
		d.Servers = append(d.Servers, s)
	}
	return d
}

// The worst finding is the exit code, wherever it stands.
func TestDoctorExits(t *testing.T) {
	for _, c := range []struct {
		kinds []host.Kind
		code  int
		worst string
	}{
		{nil, exitOK, "note"},
		{[]host.Kind{"", ""}, exitOK, "note"},
		{[]host.Kind{host.KindNote}, exitOK, "note"},
		{[]host.Kind{host.KindDegraded, host.KindNote}, exitOK, "degraded"},
		{[]host.Kind{host.KindDegraded, host.KindTimeout}, exitTimeout, "timeout"},
		{[]host.Kind{host.KindTimeout, host.KindNote}, exitTimeout, "timeout"},
		{[]host.Kind{host.KindTimeout, host.KindUnreachable}, exitUnreachable, "unreachable"},
		{[]host.Kind{host.KindAuth, host.KindUnreachable}, exitAuth, "auth"},
		{[]host.Kind{host.KindAuth, host.KindConfiguration, host.KindTimeout}, exitConfiguration, "configuration"},
	} {
		for _, format := range []string{"--json", "--no-color"} {
			cmd := command{host: &fakeHost{diagnosis: diagnosed(c.kinds...)}, environmentValue: "mcp.toml"}
			if code := cmd.run(t, "doctor", format); code != c.code {
				t.Errorf("%v %s: exit code %d, want %d", c.kinds, format, code, c.code)
			}
			if out := cmd.out.String(); format == "--json" && (gjson.Get(out, "worst").String() != c.worst || gjson.Get(out, "ok").Bool() != (c.code == exitOK)) {
				t.Errorf("%v: %s", c.kinds, out)
			}
		}
	}
	d := diagnosed("")
	d.Host.Findings = []host.Finding{finding(host.KindUnreachable)}
	cmd := command{host: &fakeHost{diagnosis: d}, environmentValue: "mcp.toml"}
	if code := cmd.run(t, "doctor"); code != exitUnreachable || !strings.Contains(cmd.out.String(), "1 working, 0 degraded, 0 not working") {
		t.Errorf("exit code %d: %s", code, cmd.out.String())
	}
}

// On a terminal lines are wrapped and strangers' texts are harmless; elsewhere
// each thing is one line.
func TestDoctorText(t *testing.T) {
	d := &host.Diagnosis{
		Host: host.HostDiagnosis{Version: "1", ConfigFiles: []string{"mcp.toml"}},
		Servers: []host.ServerDiagnosis{
			{Name: "fine", State: "ready", Listed: true, Tools: 2, Started: 1234 * time.Millisecond},
			{Name: "odd", State: "ready", Listed: true, Tools: 1, StderrTail: []string{"not shown"}, Findings: []host.Finding{
				{Kind: host.KindNote, Check: "tools", Message: "one\ntwo"},
			}},
			{Name: "poor", State: "degraded", Listed: true, Tools: 3, Findings: []host.Finding{
				{Kind: host.KindDegraded, Check: "health", Message: "its process ended", Advice: "wait"},
			}},
			{Name: "off", State: "disabled", File: "mcp.toml", Line: 7},
			{Name: "wrong", State: "failed", LogFile: "/logs/wrong.log", StderrTail: []string{"\x1b[2Jgone " + strings.Repeat("x", 80), "last"},
				Command: &host.CommandDiagnosis{Name: "run", Missing: "run", SearchPath: []string{"/bin"}, Elsewhere: []string{"/opt/bin"}},
				Findings: []host.Finding{
					{Kind: host.KindConfiguration, Check: "value", Message: "TOKEN is not set", Advice: "set TOKEN, or enabled = false", File: "mcp.toml", Line: 3, Key: "servers.wrong.env.TOKEN"},
					{Kind: host.KindUnreachable, Check: "start", Message: "\x1b[31mred", Advice: "look"},
				}},
		},
	}
	run := func(terminal bool) string {
		cmd := command{host: &fakeHost{diagnosis: d}, terminal: terminal, environmentValue: "mcp.toml"}
		if code := cmd.run(t, "doctor"); code != exitConfiguration {
			t.Errorf("exit code %d", code)
		}
		return cmd.out.String()
	}
	const piped = `ok    collet  1, mcp.toml
ok    fine    ready, 2 tools, started in 1.23s
note  odd     ready, 1 tool
              note: one two
warn  poor    degraded, 3 tools
              its process ended
              -> wait
off   off     disabled (mcp.toml:7)
FAIL  wrong   TOKEN is not set (mcp.toml:3, servers.wrong.env.TOKEN)
              -> set TOKEN, or enabled = false
              ESC[31mred
              -> look
              PATH      /bin
              also      /opt/bin
              stderr    | ESC[2Jgone xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                        | last
              log       /logs/wrong.log
2 working, 1 degraded, 1 not working, 1 disabled
`
	if got := strings.ReplaceAll(run(false), "\x1b", "ESC"); got != piped {
		t.Errorf("%s\nwant\n%s", got, piped)
	}
	const shown = `ok    collet  1, mcp.toml
ok    fine    ready, 2 tools, started in 1.23s
note  odd     ready, 1 tool
              note: one two
warn  poor    degraded, 3 tools
              its process ended
              -> wait
off   off     disabled (mcp.toml:7)
FAIL  wrong   TOKEN is not set (mcp.toml:3,
              servers.wrong.env.TOKEN)
              -> set TOKEN, or enabled = false
              \x1b[31mred
              -> look
              PATH      /bin
              also      /opt/bin
              stderr    | \x1b[2Jgone xxxxxxxxxxxxxxxxxxxxx…
                        | last
              log       /logs/wrong.log
2 working, 1 degraded, 1 not working, 1 disabled
`
	if got := run(true); got != shown {
		t.Errorf("%s\nwant\n%s", got, shown)
	}
}
