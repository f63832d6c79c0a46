package schema

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// The official JSON Schema test suite has no package of its own. This module's zip
// holds it whole; of the module nothing else is used and nothing is imported.
const (
	suiteModule = "github.com/kaptinlin/jsonschema@v0.4.6"
	suiteSum    = "h1:vOSFg5tjmfkOdKg+D6Oo4fVOM/pActWu/ntkPsI1T64="
	suiteDir    = "testdata/JSON-Schema-Test-Suite/tests"
)

// suite returns the directory of the suite's tests. It is looked for in the module
// cache; it is downloaded, and has to be there, where COLLET_NPM_DIR says that
// what tests need from elsewhere is at hand.
func suite(t *testing.T) string {
	t.Helper()
	_, must := os.LookupEnv("COLLET_NPM_DIR")
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", suiteModule)
	cmd.Dir = t.TempDir() // outside of any module: nothing comes to require it
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if !must {
		cmd.Env = append(cmd.Env, "GOPROXY=off")
	}
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if len(out) > 0 {
		err = errors.Join(err, json.Unmarshal(out, &module))
	}
	if module.Error != "" {
		err = errors.New(module.Error)
	}
	switch {
	case err != nil && !must:
		t.Skipf("the JSON Schema test suite is not in the module cache, run: go mod download %s (%v)", suiteModule, err)
	case err != nil:
		t.Fatalf("downloading %s, which holds the JSON Schema test suite: %v", suiteModule, err)
	case module.Sum != suiteSum:
		t.Fatalf("%s has the checksum %s, want %s", suiteModule, module.Sum, suiteSum)
	}
	return filepath.Join(module.Dir, filepath.FromSlash(suiteDir))
}

// suiteDrafts are the directories of the suite that hold dialects which servers use.
var suiteDrafts = map[string]string{
	"draft4":       "http://json-schema.org/draft-04/schema#",
	"draft6":       "http://json-schema.org/draft-06/schema#",
	"draft7":       "http://json-schema.org/draft-07/schema#",
	"draft2019-09": "https://json-schema.org/draft/2019-09/schema",
	"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}

// suiteGroup is one schema of the suite with its tests.
type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// groups reads one file. Schemas before 2019-09 leave their dialect to the
// directory; that goes in front of what they say, without touching the rest.
func groups(t *testing.T, path, dialect string) []suiteGroup {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []suiteGroup
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for i, g := range all {
		schema := strings.TrimSpace(string(g.Schema))
		if rest, object := strings.CutPrefix(schema, "{"); object && !gjson.Get(schema, `$schema`).Exists() {
			comma := ","
			if strings.TrimSpace(rest) == "}" {
				comma = ""
			}
			all[i].Schema = json.RawMessage(`{"$schema":"` + dialect + `"` + comma + rest)
		}
	}
	return all
}

// difference is where this package and the suite disagree on purpose.
type difference struct {
	file, group string // group "" for all that disagree
	unchecked   string // what the schema says of itself; "" for one that is checked and says otherwise
	reason      string
}

const (
	remote    = "a reference outside of the schema is never fetched, so the schema is unchecked"
	metaOwn   = "a dialect of one's own would have to be fetched, so the schema is unchecked"
	passedBy  = "the library enters the dynamic anchors of embedded resources that the reference passed by; nobody publishes such a schema"
	outside   = "outside of itself"
	notKnown  = "is not known; draft-04"
	skipsOver = "$dynamicRef skips over intermediate resources - direct reference"
)

var suiteDifferences = []difference{
	{"refRemote", "", outside, remote},
	{"dynamicRef", "strict-tree schema, guards against misspelled properties", outside, remote},
	{"dynamicRef", "tests for implementation dynamic anchor and reference link", outside, remote},
	{"dynamicRef", "$ref and $dynamicAnchor are independent of order - $defs first", outside, remote},
	{"dynamicRef", "$ref and $dynamicAnchor are independent of order - $ref first", outside, remote},
	{"dynamicRef", "$ref to $dynamicRef finds detached $dynamicAnchor", outside, remote},
	{"dynamicRef", skipsOver, "", passedBy},
	{"vocabulary", "schema that uses custom metaschema with with no validation vocabulary", notKnown, metaOwn},
	{"vocabulary", "ignore unrecognized optional vocabulary", notKnown, metaOwn},
}

// excuse returns the line of suiteDifferences for a disagreement, -1 for none.
func excuse(file, group, unchecked string) int {
	return slices.IndexFunc(suiteDifferences, func(d difference) bool {
		return d.file == file && (d.group == "" || d.group == group) &&
			(unchecked != "") == (d.unchecked != "") && strings.Contains(unchecked, d.unchecked)
	})
}

// TestOfficialSuite: every required test of every dialect agrees, but for those
// that suiteDifferences justifies; a line that nothing needs has to go. What is
// quickly found valid the library finds valid too.
func TestOfficialSuite(t *testing.T) {
	dir := suite(t)
	used := make([]int, len(suiteDifferences))
	for draft, dialect := range suiteDrafts {
		files, err := filepath.Glob(filepath.Join(dir, draft, "*.json"))
		if err != nil || len(files) < 25 {
			t.Fatalf("%s: %d files, %v", draft, len(files), err)
		}
		agreed, excused, quick := 0, 0, 0
		for _, path := range files {
			file := strings.TrimSuffix(filepath.Base(path), ".json")
			for _, g := range groups(t, path, dialect) {
				s := Compile(g.Schema)
				for _, test := range g.Tests {
					problems := s.Validate(test.Data)
					if s.Unchecked() == "" && s.surely(test.Data) {
						quick++
						if slow := s.check(test.Data); slow != nil {
							t.Errorf("%s/%s: %s: %s is quickly valid, but the library says %v", draft, file, g.Description, test.Description, slow)
						}
					}
					if s.Unchecked() == "" && (problems == nil) == test.Valid {
						agreed++
					} else if i := excuse(file, g.Description, s.Unchecked()); i >= 0 {
						excused++
						used[i]++
					} else {
						t.Errorf("%s/%s: %s: %s: want valid %v, got problems %v, unchecked %q", draft, file, g.Description, test.Description, test.Valid, problems, s.Unchecked())
					}
				}
			}
		}
		if quick < agreed/5 {
			t.Errorf("%s: only %d of %d values were found valid quickly", draft, quick, agreed)
		}
		t.Logf("%s: %d tests agree (%d of them quickly), %d differ for a reason", draft, agreed, quick, excused)
	}
	for i, n := range used {
		if n == 0 {
			t.Errorf("nothing needs the difference %+v", suiteDifferences[i])
		}
	}
}

// TestOfficialSuiteAgainstThePeer: where another implementation reads a schema of
// the suite, it says what we say. It compares numbers as float64, which the suite
// leaves to its optional part.
func TestOfficialSuiteAgainstThePeer(t *testing.T) {
	dir := suite(t)
	for _, draft := range []string{"draft7", "draft2020-12"} {
		files, err := filepath.Glob(filepath.Join(dir, draft, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		compared, skipped := 0, 0
		for _, path := range files {
			for _, g := range groups(t, path, suiteDrafts[draft]) {
				s := Compile(g.Schema)
				theirs, err := resolvePeer(g.Schema)
				if s.Unchecked() != "" || err != nil || g.Description == skipsOver {
					skipped++ // TestOfficialSuite says why ours are; theirs refuses what it cannot do
					continue
				}
				for _, test := range g.Tests {
					var value any
					if err := json.Unmarshal(test.Data, &value); err != nil {
						t.Fatal(err)
					}
					compared++
					problems, err := s.Validate(test.Data), theirs.Validate(value)
					if (problems == nil) != (err == nil) {
						t.Errorf("%s/%s: %s: %s: %v; the peer says %v", draft, filepath.Base(path), g.Description, test.Description, problems, err)
					}
				}
			}
		}
		if compared < 500 || skipped > compared/10 {
			t.Errorf("%s: %d values compared, %d schemas skipped", draft, compared, skipped)
		}
		t.Logf("%s: %d values compared, %d schemas skipped", draft, compared, skipped)
	}
}
