package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/collet-dev/collet/host/internal/credential"
	"github.com/collet-dev/collet/sdk/mcp"
)

const (
	// documentURL is the client metadata document that the suite expects.
	documentURL = "https://conformance-test.local/client-metadata.json"
	// maxLogins is how often somebody would log in for one server before giving up.
	maxLogins = 3
)

// keys are the credentials of a scenario, and somebody who logs in when asked to.
type keys struct {
	dir      string
	keeper   *credential.Keeper
	settings credential.Settings

	mu     sync.Mutex
	logins int
}

func newKeys(url, scenario string, given []byte) (*keys, error) {
	var told struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if len(given) > 0 {
		if err := json.Unmarshal(given, &told); err != nil {
			return nil, fmt.Errorf("the scenario's context: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, err
	}
	k := &keys{dir: dir, settings: credential.Settings{
		Server: "conformance", Resource: url, ClientID: told.ClientID, ClientSecret: told.ClientSecret, ClientMetadataURL: documentURL,
	}}
	if strings.HasPrefix(scenario, "auth/client-credentials") {
		k.settings.Grant = credential.ClientCredentials
	}
	k.keeper = credential.Open(credential.Options{Path: filepath.Join(dir, "credentials.json"), Keyring: credential.KeyringOff, Version: "1.0.0"})
	return k, nil
}

func (k *keys) close() {
	k.keeper.Close()
	os.RemoveAll(k.dir)
}

// authorize is for mcp.Endpoint: without a credential a request goes without one, and
// its refusal says what is wanted.
func (k *keys) authorize(ctx context.Context) (http.Header, error) {
	if k.settings.Grant == credential.ClientCredentials {
		return nil, nil
	}
	token, err := k.keeper.Token(ctx, k.settings, credential.Need{})
	if err != nil {
		return nil, nil
	}
	return bearer(token), nil
}

// reauthorize is for mcp.Endpoint: what is not there is logged in for.
func (k *keys) reauthorize(ctx context.Context, refused mcp.Refusal) (http.Header, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	need := credential.Need{Challenge: refused.Challenge, Rejected: strings.TrimPrefix(refused.Header.Get("Authorization"), "Bearer ")}
	token, err := k.keeper.Token(ctx, k.settings, need)
	if err == nil {
		return bearer(token), nil
	}
	if k.logins++; k.logins > maxLogins || k.settings.Grant == credential.ClientCredentials {
		return nil, err
	}
	if _, err := k.keeper.Login(ctx, k.settings, need, follower{}); err != nil {
		return nil, err
	}
	token, err = k.keeper.Token(ctx, k.settings, credential.Need{})
	return bearer(token), err
}

func bearer(t credential.Token) http.Header {
	return http.Header{"Authorization": {t.Scheme + " " + t.Value}}
}

// follower is a person whose browser is sent back at once.
type follower struct{}

func (follower) Listen(context.Context, credential.Redirect) (string, error) {
	return "http://127.0.0.1:3000/callback", nil
}

func (follower) Authorize(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	back := resp.Header.Get("Location")
	if back == "" {
		return "", fmt.Errorf("the authorization server sent nobody back: %s", resp.Status)
	}
	return back, nil
}

func (follower) ShowCode(context.Context, credential.DeviceCode) error {
	return errors.New("nobody is there to enter a code")
}
