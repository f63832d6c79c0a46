package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/collet-dev/collet/sdk/adaptertest"
	"github.com/collet-dev/collet/sdk/adaptertest/check"
)

var pluginPath string

func TestMain(m *testing.M) { adaptertest.Main(m, &pluginPath) } // builds the program

// All of the contract, the faults of the service included: nothing is skipped.
func TestContract(t *testing.T) {
	adaptertest.Verify(t, pluginPath, check.Options{
		Config:   json.RawMessage(`{"url":"${UPSTREAM}"}`),
		Upstream: fakeAPI, // an http.Handler that answers as yours does; an MCP server when left out
		Call:     check.Call{Tool: "search", Arguments: json.RawMessage(`{"query":"q"}`)},
		Patience: 4,
		Done: func(o check.Outcome) {
			if o.Status == check.Skipped {
				t.Errorf("%v", o)
			}
		},
	})
}

// fakeAPI finds one page for each search, called what was looked for.
var fakeAPI = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	var in query
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(found{Titles: []string{in.Query}})
})
