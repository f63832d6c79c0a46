package challenge

import (
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func TestParse(t *testing.T) {
	const meta = "https://mcp.example.com/.well-known/oauth-protected-resource"
	for header, want := range map[string]Bearer{
		"":            {},
		"Bearer":      {},
		"Basic":       {},
		`Bearer ,,, `: {},
		`Bearer resource_metadata="` + meta + `"`:            {ResourceMetadata: meta},
		`bearer resource_metadata=` + meta:                   {ResourceMetadata: meta},
		`Bearer realm="", resource_metadata="` + meta + `"`:  {ResourceMetadata: meta},
		`Bearer realm="a, b=c\" d", scope="x y"`:             {Scopes: []string{"x", "y"}},
		`Bearer error="insufficient_scope", scope="  a  b "`: {Error: "insufficient_scope", Scopes: []string{"a", "b"}},
		`Bearer scope=""`: {},
		`Bearer error="invalid_token" error_description="It \"expired\""`:       {Error: "invalid_token", Description: `It "expired"`},
		`Basic realm="x", Bearer scope="a", Bearer scope="b"`:                   {Scopes: []string{"a"}},
		`Bearer scope="a", scope="b"`:                                           {Scopes: []string{"a"}},
		`Negotiate abc==, Bearer scope=a`:                                       {Scopes: []string{"a"}},
		`DPoP algs="ES256", resource_metadata="` + meta + `", Bearer scope="a"`: {ResourceMetadata: meta, Scopes: []string{"a"}},
		`Basic scope="of another scheme"`:                                       {},
		`Bearer scope="never closed`:                                            {Scopes: []string{"never", "closed"}},
		`"stray" Bearer scope=a`:                                                {Scopes: []string{"a"}},
		`Bearer SCOPE="a", Error = "x"`:                                         {Scopes: []string{"a"}, Error: "x"},
	} {
		if got := Parse(header); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", header, got, want)
		}
	}
}

func TestBounded(t *testing.T) {
	if got := Parse("Bearer " + strings.Repeat(" ", maxHeader) + `scope="x"`); got.Scopes != nil {
		t.Errorf("read beyond the bound: %+v", got)
	}
}

// What the official SDK can read of one Bearer challenge, it reads as we do.
func FuzzParse(f *testing.F) {
	f.Add(`Bearer realm="x", resource_metadata="https://a/b", scope="a b", error="insufficient_scope"`)
	f.Add(`Basic realm="x", Bearer error_description="q\"q", scope=a`)
	f.Add(`Negotiate YII==, Bearer`)
	f.Add(`Bearer realm="", scope=`)
	f.Fuzz(func(t *testing.T, header string) {
		got := Parse(header)
		for _, s := range got.Scopes {
			if s == "" {
				t.Errorf("%q: an empty scope", header)
			}
		}
		peers, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil || len(peers) != 1 || peers[0].Scheme != "bearer" || !plain(header) {
			return
		}
		if want := strings.Fields(peers[0].Params["scope"]); strings.Join(got.Scopes, " ") != strings.Join(want, " ") {
			t.Errorf("%q: scopes %q, the SDK reads %q", header, got.Scopes, want)
		}
		if want := peers[0].Params["resource_metadata"]; got.ResourceMetadata != want {
			t.Errorf("%q: metadata %q, the SDK reads %q", header, got.ResourceMetadata, want)
		}
	})
}

// plain leaves headers in which each parameter comes once, and with nothing that
// only one of the two tolerates.
func plain(header string) bool {
	if len(header) > maxHeader || strings.Count(strings.ToLower(header), "scope") > 1 || strings.Count(strings.ToLower(header), "resource_metadata") > 1 {
		return false
	}
	scheme, rest, _ := strings.Cut(header, " ")
	for part := range strings.SplitSeq(rest, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		value, closed := strings.CutSuffix(strings.TrimPrefix(value, `"`), `"`)
		if !ok || !closed || !words(name) || value == "" || strings.ContainsAny(value, "\"\\\r\n\t") || name != strings.TrimSpace(name) || !strings.Contains(part, `="`) {
			return false
		}
	}
	return words(scheme)
}

func words(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !isTokenRune(r) }) < 0
}
