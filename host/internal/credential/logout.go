package credential

import (
	"context"
	"errors"

	"github.com/collet-dev/collet/host/internal/credential/grant"
	"github.com/collet-dev/collet/host/internal/credential/store"
	"github.com/collet-dev/collet/sdk/failure"
)

// Logout forgets the credentials of a server, and gives their tokens back where the
// authorization server takes them (RFC 7009). An error that says so comes after they
// were forgotten: then the tokens may be good until they expire.
func (k *Keeper) Logout(ctx context.Context, s Settings) error {
	if err := s.Check(); err != nil {
		return invalid(s, err)
	}
	k.forgetIssued(s)
	if s.grant() == Command {
		return nil
	}
	var gone []store.Credential
	err := k.store.Change(ctx, func(c *store.Contents) error {
		for e := c.Credential(s.endpoint(), s.Issuer); e != nil; e = c.Credential(s.endpoint(), s.Issuer) {
			gone = append(gone, *e)
			c.Remove(e.Endpoint, e.Issuer)
		}
		return nil
	})
	if err != nil {
		return unusable(err)
	}
	var failedAll error
	for _, e := range gone {
		if u, ok := k.unsavedOf(e); ok {
			e = u.Credential // the tokens that count
		}
		k.mu.Lock()
		delete(k.unsaved, flightKey(e))
		k.mu.Unlock()
		failedAll = errors.Join(failedAll, k.revoke(ctx, s, e))
	}
	if failedAll != nil {
		f := failure.New(failure.ServerError, failure.NotSent, "%s is logged out here, but the tokens could not be revoked: %w", s.Server, failedAll)
		f.Origin = failure.OriginUpstream
		return f
	}
	return nil
}

func (k *Keeper) revoke(ctx context.Context, s Settings, e store.Credential) error {
	if e.RevocationEndpoint == "" {
		return nil
	}
	k.tell(e.Access, e.Refresh, e.Client.Secret)
	client, err := k.client(s)
	if err != nil {
		return err
	}
	at := grant.Endpoint{URL: e.RevocationEndpoint, ClientID: e.Client.ID, Secret: e.Client.Secret, Method: e.Client.Method}
	if e.Client.Source == store.Configured {
		at.Secret = s.ClientSecret
	}
	var failed error
	if e.Refresh != "" {
		failed = grant.Revoke(ctx, client, at, e.Refresh, "refresh_token")
	}
	return errors.Join(failed, grant.Revoke(ctx, client, at, e.Access, "access_token"))
}
