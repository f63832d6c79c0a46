package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/schema"
)

func compiled(t *testing.T) *schema.Schema {
	t.Helper()
	s := schema.Compile(Schema())
	if why := s.Unchecked(); why != "" {
		t.Fatalf("the schema is not one: %s", why)
	}
	return s
}

// document is a TOML text as the JSON that an editor holds against the schema.
func document(t *testing.T, text string) json.RawMessage {
	t.Helper()
	values, syntax := decode(text)
	if syntax != nil {
		t.Fatalf("%s\n%v", text, syntax)
	}
	root, _, _ := scan(text)
	w := jsonWriter{t: &table{l: newLoader()}}
	w.value("", values, root)
	return w.buf.Bytes()
}

// Every key that the loader takes is in the schema, and no other.
func TestSchemaKeys(t *testing.T) {
	keys := func(path string) (out []string) {
		gjson.GetBytes(Schema(), path).ForEach(func(k, v gjson.Result) bool {
			out = append(out, k.String())
			if v.Get("description").String() == "" {
				t.Errorf("%s has no description", k)
			}
			return true
		})
		return out
	}
	if got := keys("properties.host.properties"); !slices.Equal(got, names(hostKeys)) {
		t.Errorf("host: %q, want %q", got, names(hostKeys))
	}
	if got := keys("properties.servers.additionalProperties.properties"); !slices.Equal(got, names(serverKeys)) {
		t.Errorf("servers: %q, want %q", got, names(serverKeys))
	}
	if got := keys("properties.host.properties.telemetry.properties"); !slices.Equal(got, names(telemetryKeys)) {
		t.Errorf("host.telemetry: %q, want %q", got, names(telemetryKeys))
	}
	docs, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range slices.Concat(names(serverKeys), names(hostKeys), names(telemetryKeys)) {
		if !strings.Contains(string(docs), "`"+k+"`") && !strings.Contains(string(docs), k+" = ") {
			t.Errorf("docs/configuration.md does not tell of %s", k)
		}
	}
}

// The words of package exposure, which the schema repeats.
func TestExposureWords(t *testing.T) {
	var known []exposure.Exposure
	for _, w := range exposureWords {
		e, err := exposure.Parse(w)
		if err != nil {
			t.Error(err)
		}
		known = append(known, e)
	}
	for _, e := range []exposure.Exposure{exposure.Direct, exposure.Deferred, exposure.Codemode, exposure.Hidden} {
		if !slices.Contains(known, e) {
			t.Errorf("%s is missing", e)
		}
	}
}

// Every example that people read passes, in the loader too.
func TestSchemaTakesExamples(t *testing.T) {
	s := compiled(t)
	texts := map[string]string{"the design's example": design}
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```")
	for _, file := range append(files, "../../../README.md", "../../../mcp.toml") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".toml") {
			texts[file] = string(data)
		}
		for i, block := range blocks.FindAllStringSubmatch(string(data), -1) {
			texts[fmt.Sprintf("%s, example %d", file, i+1)] = block[1]
		}
	}
	if len(texts) < 3 {
		t.Errorf("only %d examples were found", len(texts))
	}
	for where, text := range texts {
		if strings.HasPrefix(text, "[tokens.") { // a file of tokens, which tokenfile reads
			continue
		}
		if problems := s.Validate(document(t, text)); len(problems) > 0 {
			t.Errorf("%s: %v", where, problems)
		}
		user := Source{File: "user", Layer: User, Data: []byte("[servers.github]\nplugin = \"github\"\n")}
		if c := Merge([]Source{user, {File: where, Layer: Project, Data: []byte(text)}}); len(c.Problems) > 0 && !strings.Contains(problems(c), "has no effect in a project's file") {
			t.Errorf("%s: %s", where, problems(c))
		}
	}
}

// What the loader faults the schema refuses, but for what it cannot say.
func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	// A date is a string in the JSON of this test.
	beyond := regexp.MustCompile(`is out of range; allowed are \d+[smhK]|not a datetime|shorter than timeout|inf and nan|mcp.toml:2: servers.bad: nothing says|(needs|does not go with|goes with) (client_id|token_command|grant|resource|url|oauth)`)
	for _, c := range serverFaults {
		if strings.Contains(c.entry, "-inf") {
			continue // no JSON
		}
		refused := len(s.Validate(document(t, "[servers.bad]\n"+c.entry+"\n"))) > 0
		if strings.Contains(c.entry, "plugin='mcp'") && !refused {
			t.Errorf("%s: plugin = \"mcp\" alone passes", c.entry)
		}
		if !refused && !beyond.MatchString(c.want) {
			t.Errorf("%s: passes, and the loader says %s", c.entry, c.want)
		}
	}
	for _, text := range []string{
		"[server.a]\ncommand='x'", "debug=true", "host='x'", "[[servers]]\nname='x'", "[host]\nlog_level='loud'", "[host]\nexposure='all'",
		"[host]\nwire_names='short'", "[host]\nresponse_budget='256KB'", "[host]\nresponse_budget=1", "[host]\nconnect_wait='10'", "[host]\nplugin_dirs='x'",
		"[host]\nexpsure='direct'", "[servers.a_]\ncommand='x'", "[servers.a__b]\ncommand='x'", "[servers.'a/b']\ncommand='x'", "[servers.\"\"]\ncommand='x'",
		"[servers.a23456789012345678901234567890123]\ncommand='x'", "[servers.a]\nurl='ftp://h'", "[servers.a]\nurl='https://'",
	} {
		if len(s.Validate(document(t, text))) == 0 {
			t.Errorf("%s: passes", text)
		}
		if len(Parse("m", []byte(text)).Problems) == 0 {
			t.Errorf("%s: the loader takes it", text)
		}
	}
}

// What the loader takes the schema takes.
func TestSchemaTakesWhatTheLoaderTakes(t *testing.T) {
	s := compiled(t)
	for _, entry := range []string{
		"command='x'\ntimeout='1.5s'", "command='x'\ntimeout='1m30s'", "command='x'\nmax_timeout='.5h'", "command='x'\nidle_timeout='720h'",
		"plugin='mcp'\ncommand='x'\nargs=[]", "plugin='a/b c'", "plugin='x'\nenv={'A B'='1'}\nconfig={}", "url='$URL'", "url='https://${H:-h}/x'",
		"url='http://[::1]:80'\nheaders={X-Y='1'}", "command='x'\ninherit_env=['A']", "command='x'\nconsent={'*'='ask'}", "command='x'\ndisabled=false",
		"command='x'\nexposure='codemode-deferred'", "command='x'\nmax_concurrent=1000", "url='http://h'\noauth={client_id='x'}", "command='x'\ntool_exposure={}",
	} {
		text := "[host]\nconnect_wait='0s'\nresponse_budget='1 MiB'\n[servers.a]\n" + entry + "\n"
		if c := Parse("m", []byte(text)); len(c.Problems) > 0 {
			t.Errorf("%s: the loader says %s", entry, problems(c))
		}
		if problems := s.Validate(document(t, text)); len(problems) > 0 {
			t.Errorf("%s: %v", entry, problems)
		}
	}
	if problems := s.Validate(document(t, "[servers.a]\nenabled=true\nexposure='direct'\ntool_exposure={x='hidden'}\n")); len(problems) > 0 {
		t.Errorf("an override: %v", problems)
	}
	for _, n := range []string{"a", "a-b", "a_b", "A9", "-a", "a-", "_", "é", "a.b", "a__b", strings.Repeat("a", 32), strings.Repeat("a", 33), ""} {
		refused := len(s.Validate(document(t, fmt.Sprintf("[servers.%q]\ncommand='x'\n", n)))) > 0
		if refused != (name.CheckServer(n) != nil) {
			t.Errorf("%q: the schema refuses it: %v, the loader: %v", n, refused, name.CheckServer(n))
		}
	}
}
