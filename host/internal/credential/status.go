package credential

import (
	"context"
	"time"
)

// State is what is known of a server's credential without asking anybody.
type State string

// The states.
const (
	LoggedOut  State = "logged-out"  // there is none
	LoggedIn   State = "logged-in"   // there is one, as far as is known here
	NeedsLogin State = "needs-login" // there is one of no use any more
)

// Status is a credential without its secrets.
type Status struct {
	State      State
	Reason     string // of NeedsLogin
	Grant      Grant
	Resource   string
	Issuer     string
	ClientID   string
	Registered string    // how the client came about: "configured", "metadata document", "dynamic"
	Scopes     []string  // granted
	Wanted     []string  // what the server asked for since, and the next login asks for
	Expiry     time.Time // of the access token; zero is unknown
	Obtained   time.Time
	// Refreshable: a new token needs no person.
	Refreshable bool
	Store       string // where it is kept, for a person; "" for one that is not
}

// Status says what is known of a server's credential. It asks nobody. The error is a
// *failure.Failure for settings, or a store, that cannot be used.
func (k *Keeper) Status(_ context.Context, s Settings) (Status, error) {
	if err := s.Check(); err != nil {
		return Status{}, invalid(s, err)
	}
	st := Status{State: LoggedOut, Grant: s.grant(), Resource: s.Resource, Issuer: s.Issuer, ClientID: s.ClientID}
	now := k.opt.Now()
	if g := s.grant(); g == Command || g == ClientCredentials {
		st.Refreshable = true
		k.mu.Lock()
		defer k.mu.Unlock()
		if i, ok := k.issued[issuedKey(s)]; ok {
			st.State, st.Expiry, st.Obtained, st.Scopes = LoggedIn, i.Expiry, i.Obtained, i.Scopes
		}
		return st, nil
	}
	st.Store = k.store.Location()
	e, err := k.credential(s)
	if e == nil {
		return st, err
	}
	st.State, st.Resource, st.Issuer, st.ClientID = LoggedIn, e.Resource, e.Issuer, e.Client.ID
	st.Registered = map[string]string{"document": "metadata document"}[e.Client.Source]
	if st.Registered == "" {
		st.Registered = e.Client.Source
	}
	st.Scopes, st.Wanted, st.Expiry, st.Obtained = e.Scopes, e.Wanted, e.Expiry, e.Obtained
	st.Refreshable = e.Refresh != "" && e.Refused == ""
	switch {
	case s.ClientID != "" && s.ClientID != e.Client.ID:
		st.State, st.Reason = NeedsLogin, "it belongs to another client_id than the configured one"
	case e.Refused != "":
		st.State, st.Reason = NeedsLogin, e.Refused
	case e.Refresh == "" && expired(*e, now):
		st.State, st.Reason = NeedsLogin, "it has expired and cannot be refreshed"
	}
	return st, nil
}
