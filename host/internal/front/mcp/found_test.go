package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
)

// stocked is a host with one server of these tools, all of one exposure.
func stocked(e exposure.Exposure, definitions ...string) shelf {
	s := Server{Name: "files"}
	for _, d := range definitions {
		t := catalog.New("files", catalog.Offer{Name: gjson.Get(d, "name").String(), Definition: json.RawMessage(d)})
		s.Tools = append(s.Tools, Tool{Tool: t, Wire: "files__" + t.Name, Exposure: e})
	}
	return shelf{servers: []Server{s}}
}

const readTool = `{"name":"read","description":"Reads a file.","inputSchema":{"type":"object", "properties":{"path":{"type":"string","description":"Where"}},"required":["path"]},` +
	`"outputSchema":{"type":"object","properties":{"lines":{"type":"integer"}}}}`

// What only scripts can call is told as they call it, everything else with its schema
// as the server wrote it.
func TestSearchTellsHowToCall(t *testing.T) {
	for e, want := range map[exposure.Exposure]string{
		exposure.Deferred: `inputSchema={"type":"object", "properties":{"path":{"type":"string","description":"Where"}},"required":["path"]}`,
		exposure.Direct:   `inputSchema={"type":"object", "properties":{"path":{"type":"string","description":"Where"}},"required":["path"]}`,
		exposure.Codemode: `declaration="declare const tools: { files: {\n  read(args: {\n    /** Where */\n    path: string;\n  }): Promise<{\n    /** @integer */\n    lines?: number;\n  }>;\n} };\n"`,
	} {
		f := New(stocked(e, readTool))
		hit := lookUp(t, f, nil, `{"query":"read"}`).Get("tools.0")
		f.Close()
		if hit.Get("name").String() != "files/read" || hit.Get("description").String() != "Reads a file." || hit.Get("exposure").String() != string(e) {
			t.Errorf("%s: %s", e, hit)
		}
		key, value, _ := strings.Cut(want, "=")
		other := map[string]string{"inputSchema": "declaration", "declaration": "inputSchema"}[key]
		if got := hit.Get(key).Raw; got != value || hit.Get(other).Exists() {
			t.Errorf("%s: %s is %s, want %s", e, key, got, value)
		}
	}
}

// An answer is bounded however much servers write, and what is short is told in full.
func TestSearchAnswerIsBounded(t *testing.T) {
	for _, e := range []exposure.Exposure{exposure.Deferred, exposure.Codemode} {
		var definitions []string
		for i := range 60 {
			var properties []string
			for j := range 200 {
				properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string","description":"%s"}`, j, strings.Repeat("About it. ", 10)))
			}
			definitions = append(definitions, fmt.Sprintf(`{"name":"read_%02d","description":"read %s","inputSchema":{"type":"object","properties":{%s}}}`,
				i, strings.Repeat(`long \"text\"\n `, 2000), strings.Join(properties, ",")))
		}
		f := New(stocked(e, append(definitions, readTool)...))
		for _, limit := range []int{1, 5, 50} {
			got := lookUp(t, f, nil, fmt.Sprintf(`{"query":"read","limit":%d}`, limit))
			tools := got.Get("tools").Array()
			if len(got.Raw) > maxAnswer+1000 || len(tools) != limit || got.Get("total").Int() != 61 {
				t.Errorf("%s, limit %d: %d tools of %s in %d bytes", e, limit, len(tools), got.Get("total"), len(got.Raw))
			}
			short := false
			for _, hit := range tools {
				switch {
				case hit.Get("name").String() == "files/read":
					short = hit.Get("description").String() == "Reads a file." && strings.Contains(hit.Raw, "Where")
				case !strings.Contains(hit.Get("declaration").String(), "read_") || !strings.HasPrefix(hit.Get("description").String(), "read long"):
					t.Errorf("%s, limit %d: %.300s", e, limit, hit)
				}
			}
			if !short {
				t.Errorf("%s, limit %d: the short tool is not told in full", e, limit)
			}
		}
		f.Close()
	}
}

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		sum   int
		told  int // of all
	}{
		{nil, 10, 0}, {[]int{3, 4}, 10, 7}, {[]int{5, 5}, 10, 10}, {[]int{2, 100}, 10, 10}, {[]int{100, 2, 100}, 10, 10}, {[]int{0, 0, 50}, 10, 10},
	} {
		most, told := level(c.sizes, c.sum), 0
		for _, n := range c.sizes {
			told += min(n, most)
		}
		if told != c.told {
			t.Errorf("level(%d, %d) = %d: %d are told, want %d", c.sizes, c.sum, most, told, c.told)
		}
	}
}
