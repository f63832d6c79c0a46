package host

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/consent"
)

// ConsentStore is the record of what people answered when they were asked whether a
// call may be made.
type ConsentStore = consent.Store

// ConsentRecord is one answer, or a revocation.
type ConsentRecord = consent.Record

// ConsentRevoked is the Decision of a record that ends others.
const ConsentRevoked = consent.Revoked

// OpenConsents is the record of the hosts that have this StateDir; empty is the
// default of Options. Nothing is read or made yet, and no host has to run.
func OpenConsents(state string) *ConsentStore {
	return &consent.Store{Dir: filepath.Join(cmp.Or(state, stateDir()), "consent")}
}

// asksConsent reports whether a person is asked before calls of the tool.
func (h *Host) asksConsent(t *catalog.Tool) bool {
	s := h.hub.Server(t.Server)
	if s == nil {
		return false
	}
	word, _ := s.Settings().ConsentFor(t.Name, t.AsksConsent)
	return word == config.ConsentAsk
}

// consenter has the script's time stand still while a person is asked about a call.
func (b *bridge) consenter(rest func() func()) Consenter {
	ask := b.script.Consent
	if ask == nil {
		ask = b.host.opt.Consent
	}
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, q ConsentQuestion) (ConsentAnswer, error) {
		defer rest()()
		return ask(ctx, q)
	}
}
