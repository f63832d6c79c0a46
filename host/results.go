package host

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/host/internal/results"
)

// ResultStore keeps the results that were larger than response_budget, for the
// credential that made them.
type ResultStore = results.Store

// ResultSlice says which part of a kept result is wanted.
type ResultSlice = results.Slice

// ResultLines are lines of a kept result, both included; the first is 1.
type ResultLines = results.Lines

// ResultPage is a part of a kept result, and where the next one is.
type ResultPage = results.Page

// LocalOwner is the owner of the results of whoever shows no credential.
const LocalOwner = results.Local

// OpenResults is the store of the hosts that have this StateDir; empty is the
// default of Options. Nothing is read or made yet, and no host has to run.
func OpenResults(state string) *ResultStore {
	return &results.Store{Dir: filepath.Join(cmp.Or(state, stateDir()), "results")}
}

// Results is the store of this host.
func (h *Host) Results() *ResultStore { return h.results }

// ResponseBudget is the size, in bytes, of the largest result that a model gets
// whole, as configured now.
func (h *Host) ResponseBudget() int64 { return h.hub.Config().Host.ResponseBudget }

// Owner implements front.Host.
func (v view) Owner(principal any) string {
	p, _ := principal.(*guard.Principal)
	if p == nil {
		return LocalOwner
	}
	// Authenticators begin an ID with their own word, so that none is LocalOwner but
	// the one of who needs no credential.
	return cmp.Or(p.ID, "nobody")
}

// ReadResult implements front.Host.
func (v view) ReadResult(owner string, arguments json.RawMessage) (json.RawMessage, error) {
	return v.host.results.Call(owner, arguments, v.host.ResponseBudget())
}
