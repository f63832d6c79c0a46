// Package api reads Context7's documented REST API: searches for libraries and
// their documentation. Answers are kept in a cache, redirected libraries are
// followed, and an API that asked for a pause gets it. Nothing is chosen or
// worded here.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/plugins/context7/internal/cache"
	"github.com/collet-dev/collet/plugins/context7/internal/library"
	"github.com/collet-dev/collet/sdk/failure"
)

// DefaultURL is where the API is.
const DefaultURL = "https://context7.com/api"

const (
	// maxBody bounds an answer: documentation is at most some hundred kilobytes.
	maxBody = 8 << 20
	// maxHops bounds a chain of redirects, of libraries as of addresses.
	maxHops = 3
	// indexingWait is how long a library that is being indexed is waited for when
	// the API does not say, and maxIndexingWait how long when it does. It is asked
	// for once more: indexing takes seconds or many minutes.
	indexingWait    = 2 * time.Second
	maxIndexingWait = 10 * time.Second
)

// Options say where the API is and who asks.
type Options struct {
	URL   string // "" is DefaultURL
	Key   string // "" is anonymous, with low limits
	Agent string // the User-Agent header
	Cache *cache.Dir
}

// Client is a library.Source.
type Client struct {
	base  string
	key   string
	agent string
	cache *cache.Dir
	http  *http.Client
	// after waits so long, or until ctx ends.
	after func(ctx context.Context, wait time.Duration) error

	mu     sync.Mutex
	resume time.Time // nothing is asked before
}

var _ library.Source = (*Client)(nil)

// New checks the options. An error is a sentence about URL.
func New(opt Options) (*Client, error) {
	base := opt.URL
	if base == "" {
		base = DefaultURL
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the address of the API is no http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the address of the API has a user, a query or a fragment; an API key belongs into api_key")
	case u.Scheme == "http" && opt.Key != "" && !loopback(u.Hostname()):
		return nil, errors.New("the address of the API is http, which would show the API key to everybody on the way: use https")
	}
	c := &Client{base: strings.TrimRight(base, "/"), key: opt.Key, agent: opt.Agent, cache: opt.Cache, after: sleep}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Search implements library.Source.
func (c *Client) Search(ctx context.Context, query, name string) (library.Found, error) {
	var doc struct {
		Results []result `json:"results"`
		Filter  bool     `json:"searchFilterApplied"`
	}
	err := c.get(ctx, "/v2/libs/search", url.Values{"query": {query}, "libraryName": {name}}, func(body []byte) error {
		if err := decode("a search", body, &doc); err != nil || doc.Results != nil {
			return err
		}
		return failure.New(failure.InvalidResult, failure.Answered, "the API's answer to a search has no results member (is api_url right?)")
	})
	if r, ok := errors.AsType[*library.Refusal](err); ok && r.Code == noLibraries {
		return library.Found{}, nil
	}
	if err != nil {
		return library.Found{}, err
	}
	found := library.Found{Filtered: doc.Filter}
	for _, r := range doc.Results {
		if r.ID != "" {
			found.Libraries = append(found.Libraries, r.library())
		}
	}
	return found, nil
}

// result is a library as the API writes it. -1 means that a figure is unknown.
type result struct {
	ID, Title, Description, State, LastUpdateDate string
	TotalSnippets, Stars                          float64 // whole numbers
	TrustScore, BenchmarkScore                    float64
	Versions                                      []string
}

func (r result) library() library.Library {
	return library.Library{
		ID: r.ID, Title: r.Title, Description: r.Description, State: r.State, LastUpdate: r.LastUpdateDate,
		Snippets: int(max(r.TotalSnippets, 0)), Stars: int(max(r.Stars, 0)),
		Trust: max(r.TrustScore, 0), Benchmark: max(r.BenchmarkScore, 0), Versions: r.Versions,
	}
}

// Text implements library.Source.
func (c *Client) Text(ctx context.Context, query, id string) (library.Docs, error) {
	var text string
	id, err := c.docs(ctx, query, id, "txt", func(id string, body []byte) error {
		if text = string(body); strings.TrimSpace(text) == "" {
			return empty(id)
		}
		return nil
	})
	return library.Docs{ID: id, Text: text}, err
}

// Snippets implements library.Source.
func (c *Client) Snippets(ctx context.Context, query, id string) (library.Docs, error) {
	var doc pieces
	id, err := c.docs(ctx, query, id, "json", func(id string, body []byte) error {
		doc = pieces{}
		if err := decode("a request for documentation", body, &doc); err != nil {
			return err
		}
		// An example without code is none.
		if docs := doc.docs(id); len(docs.Code)+len(docs.Info) == 0 {
			return empty(id)
		}
		return nil
	})
	return doc.docs(id), err
}

// pieces is documentation as the API writes it.
type pieces struct {
	CodeSnippets []struct {
		CodeTitle, CodeDescription, CodeLanguage, CodeID string
		CodeList                                         []struct{ Language, Code string }
	}
	InfoSnippets []struct{ PageID, Breadcrumb, Content string }
}

func (doc pieces) docs(id string) library.Docs {
	docs := library.Docs{ID: id}
	for _, s := range doc.CodeSnippets {
		for _, part := range s.CodeList {
			language := part.Language
			if language == "" {
				language = s.CodeLanguage
			}
			docs.Code = append(docs.Code, library.Code{
				Title: s.CodeTitle, Description: s.CodeDescription, Language: language, Code: part.Code, Source: s.CodeID,
			})
		}
	}
	for _, s := range doc.InfoSnippets {
		docs.Info = append(docs.Info, library.Info{Breadcrumb: s.Breadcrumb, Content: s.Content, Source: s.PageID})
	}
	return docs
}

// docs reads documentation of a library, or of the one it has become, and says
// which it was.
func (c *Client) docs(ctx context.Context, query, id, form string, read func(id string, body []byte) error) (string, error) {
	asked, waited := id, false
	for hops := 0; ; {
		err := c.get(ctx, "/v2/context", url.Values{"query": {query}, "libraryId": {id}, "type": {form}}, func(body []byte) error {
			return read(id, body)
		})
		if moved, ok := errors.AsType[*moved](err); ok {
			if hops++; hops > maxHops || moved.to == id {
				return id, &library.Refusal{Code: moved.code, Text: fmt.Sprintf("library %s has moved in circles, at last to %s", asked, moved.to)}
			}
			id = moved.to
			continue
		}
		if indexing, ok := errors.AsType[*indexing](err); ok {
			if waited || c.after(ctx, indexing.wait) != nil {
				return id, indexing.refusal(id)
			}
			waited = true
			continue
		}
		return id, err
	}
}

// get hands the body of a 200 to read, from the cache where it has one. Only
// what read takes is kept.
func (c *Client) get(ctx context.Context, path string, query url.Values, read func([]byte) error) error {
	at := c.base + path + "?" + query.Encode()
	// What a key may see is not what another one may.
	kept := at + "\n" + c.key
	if body, ok := c.cache.Get(kept); ok && read(body) == nil {
		return nil
	}
	if f := c.paused(); f != nil {
		return f
	}
	resp, err := c.send(ctx, at)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return lost(ctx, err)
	}
	if len(body) > maxBody {
		return failure.New(failure.InvalidResult, failure.Answered, "the answer is larger than %d MiB", maxBody>>20)
	}
	if resp.StatusCode != http.StatusOK {
		return c.refused(resp, body)
	}
	if err := mistaken(resp.Header, body); err != nil {
		return err
	}
	if err := read(body); err != nil {
		return err
	}
	c.cache.Put(kept, body)
	return nil
}

// decode reads a 200 that the API's document says is JSON.
func decode(what string, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return failure.New(failure.InvalidResult, failure.Answered, "the API's answer to %s is not the documented JSON (is api_url right?): %w", what, err)
	}
	return nil
}

// send makes the request and follows redirects of addresses, as long as they
// stay at the API: beyond it nobody is to see what was asked for, nor the key.
func (c *Client) send(ctx context.Context, at string) (*http.Response, error) {
	for hops := 0; ; hops++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, failure.New(failure.ServerError, failure.NotSent, "ask %w", err)
		}
		req.Header.Set("User-Agent", c.agent)
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return nil, lost(ctx, err)
		}
		to := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || to == "" {
			return resp, nil
		}
		resp.Body.Close()
		next, err := req.URL.Parse(to)
		if err != nil || next.Scheme != req.URL.Scheme || next.Host != req.URL.Host || hops >= maxHops {
			return nil, failure.New(failure.ServerError, failure.Answered,
				"the API redirects to %s, which is not followed: if that is right, say so with api_url", origin(next))
		}
		at = next.String()
	}
}

func origin(u *url.URL) string {
	if u == nil {
		return "an unreadable address"
	}
	return u.Scheme + "://" + u.Host
}

// lost is a request that got no whole answer.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := failure.Classify(err)
	if f.Class == failure.Unknown {
		f.Class = failure.ConnectionRefused // reset, cut off, TLS: nobody to talk to
	}
	f.Message = "ask Context7's API: " + f.Message
	return f
}

func sleep(ctx context.Context, wait time.Duration) error {
	if by, ok := ctx.Deadline(); ok && time.Until(by) <= wait {
		return context.DeadlineExceeded // and not wait for what comes too late
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
