package chain

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/collet-dev/collet/plugins/websearch/internal/plaintext"
	"github.com/collet-dev/collet/plugins/websearch/internal/provider"
)

// Bounds of one result. What services send as an excerpt may be a whole page.
const (
	maxTitle   = 300
	maxSnippet = 1000
	maxURL     = 2000
)

// Found is the answer to a search, the same for every provider.
type Found struct {
	Query     string    `json:"query"`
	Provider  string    `json:"provider" jsonschema:"who answered"`
	Attempts  []Attempt `json:"attempts" jsonschema:"who was asked, in order"`
	Results   []Result  `json:"results"`
	Truncated bool      `json:"truncated" jsonschema:"the provider sent more than max_results"`
	More      bool      `json:"more,omitempty" jsonschema:"the provider says that it has more"`
	Ignored   []string  `json:"ignored,omitempty" jsonschema:"arguments that this provider cannot honour"`
	FetchedAt time.Time `json:"fetched_at"`
}

// Result is one page that was found. Title and snippet are plain text.
type Result struct {
	Rank         int      `json:"rank" jsonschema:"from 1"`
	Title        string   `json:"title"`
	URL          string   `json:"url"`
	Snippet      string   `json:"snippet"`
	PublishedAt  string   `json:"published_at,omitempty" jsonschema:"RFC 3339, where the provider gave a date"`
	PublishedRaw string   `json:"published_raw,omitempty" jsonschema:"the date as the provider gave it"`
	SourceHost   string   `json:"source_host"`
	Score        *float64 `json:"score,omitempty" jsonschema:"the provider's own, comparable within one answer only"`
	Kind         string   `json:"kind" jsonschema:"web or news"`
}

// found makes the answer of a provider fit to hand out: plain text, web addresses
// only, each page once, no domain that was not wanted.
func found(q provider.Query, name string, attempts []Attempt, a provider.Answer, now time.Time) *Found {
	f := &Found{
		Query: q.Text, Provider: name, Attempts: attempts, Results: []Result{},
		More: a.More, Ignored: a.Ignored, FetchedAt: now.UTC().Truncate(time.Second),
	}
	seen := map[string]bool{}
	for _, h := range a.Hits {
		u, err := url.Parse(strings.TrimSpace(h.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || len(h.URL) > maxURL {
			continue
		}
		host := hostOf(u)
		key := canonical(u, host)
		if seen[key] || !wanted(host, q) {
			continue
		}
		seen[key] = true
		if len(f.Results) == q.Max {
			f.Truncated = true
			break
		}
		r := Result{
			Rank: len(f.Results) + 1, URL: u.String(), SourceHost: host, Score: h.Score, Kind: "web",
			Title: plaintext.Of(h.Title, maxTitle), Snippet: plaintext.Of(h.Snippet, maxSnippet),
			PublishedRaw: plaintext.Of(h.Published, maxTitle),
		}
		if h.News {
			r.Kind = "news"
		}
		if t, ok := published(r.PublishedRaw, now); ok {
			r.PublishedAt = t.UTC().Format(time.RFC3339)
		}
		f.Results = append(f.Results, r)
	}
	return f
}

// hostOf is the host as a name is compared: small letters, no final dot, ASCII.
func hostOf(u *url.URL) string {
	return Domain(u.Hostname())
}

// Domain is a domain in the form in which two are compared.
func Domain(s string) string {
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		return ascii
	}
	return s
}

// canonical is what two addresses of one page have in common: no scheme, no www,
// no fragment, no slash at the end, no parameters that only say where a click came
// from.
func canonical(u *url.URL, host string) string {
	v := u.Query()
	for name := range v {
		if strings.HasPrefix(name, "utm_") || slices.Contains([]string{"gclid", "fbclid", "msclkid", "mc_cid", "mc_eid"}, name) {
			v.Del(name)
		}
	}
	port := u.Port()
	if port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = ""
	}
	return strings.TrimPrefix(host, "www.") + ":" + port + strings.TrimRight(u.EscapedPath(), "/") + "?" + v.Encode()
}

// wanted applies domains and exclude_domains once more: of operators in the query
// providers take some for advice.
func wanted(host string, q provider.Query) bool {
	in := func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
	return (len(q.Domains) == 0 || slices.ContainsFunc(q.Domains, in)) && !slices.ContainsFunc(q.Exclude, in)
}
