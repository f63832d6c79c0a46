package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fetch"
	"github.com/collet-dev/collet/host/internal/credential/grant"
	"github.com/collet-dev/collet/host/internal/credential/register"
	"github.com/collet-dev/collet/host/internal/credential/store"
)

const (
	// commandTimeout bounds a command that prints a token.
	commandTimeout = 30 * time.Second
	// maxOutput bounds what is read of it, in bytes.
	maxOutput = 64 << 10
)

// issued is a token that needed no person. It lives in this process alone: getting
// another one costs a request.
type issued struct{ store.Credential }

// issuedKey tells apart what may not be shared: tokens of other clients, and other
// commands.
func issuedKey(s Settings) string {
	return strings.Join([]string{string(s.grant()), s.endpoint(), s.Issuer, s.ClientID, s.Command, strings.Join(s.Scopes, " ")}, "\x00")
}

func (k *Keeper) forgetIssued(s Settings) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.issued, issuedKey(s))
}

// issue returns a token of a grant that needs no person.
func (k *Keeper) issue(ctx context.Context, s Settings, need Need) (Token, error) {
	key := issuedKey(s)
	k.mu.Lock()
	have, ok := k.issued[key]
	k.mu.Unlock()
	now := k.opt.Now()
	rejected := ok && need.Rejected == have.Access
	switch {
	case ok && !rejected && !due(have.Credential, now):
		return token(have.Credential), nil
	case rejected && !expired(have.Credential, now) && fresh(have.Credential, now):
		return Token{}, refusedAnew(s, need)
	}
	got, err := k.share(ctx, s, key, have.Access, func(ctx context.Context) (store.Credential, error) {
		var t grant.Tokens
		var err error
		scopes, asked := have.Scopes, k.opt.Now()
		if s.grant() == Command {
			t, err = run(ctx, s)
		} else {
			t, asked, scopes, err = k.ownCredentials(ctx, s, need, have.Scopes)
		}
		if err != nil {
			return store.Credential{}, failed(ctx, s, "get a token", err)
		}
		e := k.with(store.Credential{Scopes: scopes}, t, asked)
		k.mu.Lock()
		k.issued[key] = issued{e}
		k.mu.Unlock()
		return e, nil
	})
	switch {
	case err != nil && ok && !rejected && !expired(have.Credential, now):
		return token(have.Credential), nil
	case err != nil:
		return Token{}, err
	case got.Access == need.Rejected:
		return Token{}, refusedAnew(s, need)
	}
	return token(got), nil
}

// refusedAnew is the failure when the server does not accept what there is.
func refusedAnew(s Settings, need Need) error {
	return failed(context.Background(), s, "get a token", errors.New("the server refuses the token that "+string(s.grant())+" gives"+said(need.Challenge)))
}

// ownCredentials is the client credentials grant (RFC 6749 section 4.4).
func (k *Keeper) ownCredentials(ctx context.Context, s Settings, need Need, earlier []string) (_ grant.Tokens, asked time.Time, scopes []string, err error) {
	l, err := k.prepare(ctx, s, Need{Scopes: union(earlier, need.Scopes), Challenge: need.Challenge})
	if err != nil {
		return grant.Tokens{}, asked, nil, err
	}
	id := register.Identity{ClientID: s.ClientID, Secret: s.ClientSecret}
	if l.id, _, err = register.Choose(ctx, l.client, l.server, id, "", nil, k.opt.Now()); err != nil {
		return grant.Tokens{}, asked, nil, err
	}
	t, asked, err := k.persist(ctx, func(ctx context.Context) (grant.Tokens, error) {
		return grant.Credentials(ctx, l.client, l.endpoint(l.server.TokenEndpoint), l.scopes, l.resource.ID)
	})
	return t, asked, l.scopes, err
}

// run runs the command of a server, which prints a token, or a JSON object as a token
// endpoint would (RFC 6749 section 5.1). Nothing of its output gets into an error.
func run(ctx context.Context, s Settings) (grant.Tokens, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	shell := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], s.Command)
	cmd.Env = append(os.Environ(), "COLLET_SERVER="+s.Server, "COLLET_RESOURCE="+s.Resource)
	cmd.WaitDelay = time.Second
	out := &bounded{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it ran longer than %s", commandTimeout)
		}
		return grant.Tokens{}, fmt.Errorf("the command that prints it failed: %w; run it by hand to see what it says", err)
	}
	text := bytes.TrimSpace(out.kept.Bytes())
	if out.full {
		return grant.Tokens{}, fmt.Errorf("the command that prints it printed more than %d bytes", maxOutput)
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		text, _ = json.Marshal(map[string]string{"access_token": string(text)})
	}
	t, err := grant.Read(&fetch.Answer{Status: http.StatusOK, Body: text})
	if err != nil {
		return t, errors.New("what the command printed is neither a token nor a JSON object with an access_token")
	}
	return t, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept bytes.Buffer // not embedded: its ReadFrom knows no bound
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(len(p), maxOutput-b.kept.Len())
	b.full = b.full || room < len(p)
	b.kept.Write(p[:room])
	return len(p), nil
}
