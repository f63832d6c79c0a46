package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/grant"
	"github.com/collet-dev/collet/host/internal/credential/store"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// saves is how often a new token is tried to be written before its first use.
	saves = 3
	// savePause is how long after a failed attempt a use of the token is the next one,
	// and saveWait bounds what that use waits for it.
	savePause = time.Second
	saveWait  = 2 * time.Second
)

// unsaved is a credential that could not be written. It serves this process, which
// tries to write it when it is used, and when the process ends.
type unsaved struct {
	store.Credential
	of    Settings
	over  string    // the refresh token that the file has, which this one came from
	tried time.Time // to write it
}

// beside is the path of a file that goes with one credential. Whoever holds the lock
// of the credential may write it.
func (k *Keeper) beside(e store.Credential, ending string) string {
	sum := sha256.Sum256([]byte(flightKey(e)))
	return k.store.Path + "." + hex.EncodeToString(sum[:6]) + ending
}

// unkept is why a token is not asked for: it could not be written.
type unkept struct{ error }

func (u *unkept) Unwrap() error { return u.error }

// cannotKeep is the failure of a refresh that was not tried: the authorization server
// would have replaced a refresh token, and the new one would have been lost with this
// process.
func cannotKeep(s Settings, err error) *failure.Failure {
	advice := "make sure that collet can write there, and call again"
	if store.Full(err) {
		advice = "free some and call again"
	}
	f := failure.New(failure.AuthFailure, failure.NotSent, "the token for %s was not refreshed, since the new credentials of %s cannot be kept: %w; %s",
		s.Server, s.Server, &unkept{err}, advice)
	f.Origin = failure.OriginHost
	return f
}

// keep stores new tokens in the room that is there for them. When that fails all the
// same they are kept for this process: the old ones may be worth nothing any more.
func (k *Keeper) keep(ctx context.Context, s Settings, old store.Credential, t grant.Tokens, asked time.Time, room *store.Reserved) (store.Credential, error) {
	u := unsaved{Credential: k.with(old, t, asked), of: s, over: old.Refresh}
	if before, ok := k.unsavedOf(old); ok && before.Refresh == old.Refresh {
		u.over = before.over
	}
	var err error
	for i := range saves {
		if i > 0 && sleep(ctx, attempts[1]) != nil {
			break
		}
		var got *store.Credential
		if got, err = k.write(context.WithoutCancel(ctx), u, room.Change); err == nil {
			if got == nil {
				return old, needsLogin(s, "it was logged out meanwhile")
			}
			return *got, nil
		}
	}
	k.opt.Log.Error("a refreshed token could not be stored; it serves this process alone, which tries again when it uses it", "server", s.Server, "error", err)
	k.mu.Lock()
	u.tried = k.opt.Now()
	k.unsaved[flightKey(old)] = u
	k.mu.Unlock()
	return u.Credential, nil
}

// write stores a credential and returns the one that is stored now: another where
// somebody logged in meanwhile, and none where somebody logged out. Its tokens are
// given back then.
func (k *Keeper) write(ctx context.Context, u unsaved, change func(context.Context, func(*store.Contents) error) error) (*store.Credential, error) {
	e := u.Credential
	gone := false
	err := change(ctx, func(c *store.Contents) error {
		switch now := c.Credential(e.Endpoint, e.Issuer); {
		case now == nil:
			gone = true
		case now.Refresh != u.over:
			e = *now
		default:
			e.Wanted = now.Wanted
			*now = e
		}
		return nil
	})
	if err != nil && !gone {
		return nil, err
	}
	k.mu.Lock()
	delete(k.unsaved, flightKey(u.Credential))
	k.mu.Unlock()
	if !gone {
		return &e, nil
	}
	if err := k.revoke(ctx, u.of, u.Credential); err != nil {
		k.opt.Log.Warn("a token of somebody who had logged out could not be revoked", "server", u.of.Server, "error", err)
	}
	return nil, nil
}

func (k *Keeper) unsavedOf(e store.Credential) (unsaved, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u, ok := k.unsaved[flightKey(e)]
	return u, ok
}

// writeAgain tries to write what could not be written, for the one of those who use it
// at once that comes first.
func (k *Keeper) writeAgain(ctx context.Context, e store.Credential) {
	now := k.opt.Now()
	k.mu.Lock()
	u, ok := k.unsaved[flightKey(e)]
	if ok = ok && now.Sub(u.tried).Abs() >= savePause; ok {
		u.tried = now
		k.unsaved[flightKey(e)] = u
	}
	k.mu.Unlock()
	if ok {
		k.writeNow(ctx, u)
	}
}

func (k *Keeper) writeNow(ctx context.Context, u unsaved) {
	ctx, cancel := context.WithTimeout(ctx, saveWait)
	defer cancel()
	if _, err := k.write(ctx, u, k.store.Change); err != nil {
		k.opt.Log.Debug("a refreshed token can still not be stored", "server", u.of.Server, "error", err)
		return
	}
	k.opt.Log.Info("a refreshed token that could not be stored before is stored now", "server", u.of.Server)
}

// writeLast tries to write what could not be written, before the process ends.
func (k *Keeper) writeLast() {
	k.mu.Lock()
	var all []unsaved
	for _, u := range k.unsaved {
		all = append(all, u)
	}
	k.mu.Unlock()
	for _, u := range all {
		k.writeNow(context.Background(), u)
	}
}

// with is a credential with new tokens in it, which were asked for at that time.
func (k *Keeper) with(e store.Credential, t grant.Tokens, asked time.Time) store.Credential {
	k.tell(t.Access, t.Refresh)
	e.Access, e.Refresh, e.Obtained, e.Expiry, e.Refused = t.Access, t.Refresh, asked.UTC().Round(0), time.Time{}, ""
	if t.Known {
		e.Expiry = e.Obtained.Add(t.Lifetime)
	}
	if t.Scopes != nil {
		e.Scopes = t.Scopes
	}
	return e
}

// isUnkept reports whether an error is that nothing could be written.
func isUnkept(err error) bool {
	_, ok := errors.AsType[*unkept](err)
	return ok
}
