// Command collet-plugin-search asks a search service over HTTP: an adapter whose
// upstream is not MCP, with what the service's answers mean.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
)

type config struct {
	URL string `json:"url" jsonschema:"where the service is"`
	Key string `json:"key,omitempty" jsonschema:"sent with every request" collet:"secret"`
}

type query struct {
	Query string `json:"query" jsonschema:"what to look for"`
}

type found struct {
	Titles []string `json:"titles"`
}

func main() {
	adapter.Main(adapter.Info{Name: "search", Version: "0.1.0", Summary: "Searches."}, open)
}

func open(_ context.Context, _ *adapter.Env, cfg config) (adapter.Server, error) {
	var tools adapter.Tools
	adapter.Add(&tools, "search", "Search for pages.", func(ctx context.Context, _ *adapter.Call, in query) (*found, error) {
		return cfg.search(ctx, in)
	}, adapter.ReadOnly())
	return &tools, nil
}

func (c config) search(ctx context.Context, in query) (*found, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, failure.New(failure.InvalidArguments, failure.NotSent, "the setting url: %w", err)
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, failure.Classify(err) // refused, no such name, too late
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp)
	}
	var out found
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return nil, failure.New(failure.InvalidResult, failure.Answered, "the service's answer cannot be read: %w", err)
	}
	return &out, nil
}

// refused is what an answer other than 200 means.
func refused(resp *http.Response) *failure.Failure {
	f := failure.New(failure.ServerError, failure.Answered, "the search service answers %s", resp.Status)
	f.Origin, f.UpstreamCode = failure.OriginUpstream, resp.StatusCode
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		f.Class, f.Challenge = failure.AuthFailure, resp.Header.Get("WWW-Authenticate")
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		f.Class = failure.InvalidArguments
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.Class = failure.RateLimited
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			f.RetryAfter = time.Duration(seconds) * time.Second
		}
	}
	return f
}
