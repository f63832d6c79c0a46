package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// keyring holds one secret for each account, and counts how often it is asked.
func keyring(asked *int) func(context.Context, string, string) (string, error) {
	return func(_ context.Context, service, account string) (string, error) {
		*asked++
		if account == "locked" {
			return "", errors.New("it is locked")
		}
		return "<" + service + " " + account + ">", nil
	}
}

func TestSecretsFromElsewhere(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{"token": "from-a-file\r\n\n", "large": strings.Repeat("x", maxSecretFile+1)} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	r := testResolver()
	r.Home, r.Keyring = home, keyring(&asked)
	got, err := entry(t, `url = "https://h/mcp?key=${keyring:web/me}"
headers = { A = "Bearer ${file:~/token}", B = "!!${file:`+filepath.ToSlash(home)+`/token}", C = "$X${keyring:https://a/b/me@x}" }
oauth = { client_id = "c", client_secret = "${file:~/token}" }`).Resolve(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"A": "Bearer from-a-file", "B": "!from-a-file", "C": "ex<https://a/b me@x>"}; !reflect.DeepEqual(got.Headers, want) {
		t.Errorf("headers are %q", got.Headers)
	}
	if got.URL != "https://h/mcp?key=<web me>" || string(got.OAuth) != `{"client_id":"c","client_secret":"from-a-file"}` {
		t.Errorf("url is %s, oauth %s", got.URL, got.OAuth)
	}
	if asked != 2 {
		t.Errorf("the keyring was asked %d times for two secrets", asked)
	}
	var keys []string
	for _, f := range got.Fetched {
		keys = append(keys, f.Key)
	}
	if want := "url headers.A headers.B headers.C oauth.client_secret"; strings.Join(keys, " ") != want {
		t.Errorf("fetched %s, want %s", keys, want)
	}

	for lines, want := range map[string]string{
		"command = 'x'\nargs = ['${file:~/token}']":            "servers.s.args[0]: is no place for a secret, which others could see there; put it into env, headers, oauth or config",
		"command = '${keyring:a/b}'":                           "servers.s.command: is no place for a secret",
		"url = 'http://h'\nheaders = { A = '${file:none}' }":   "servers.s.headers.A: its file \"/conf/none\" cannot be read: no such file",
		"plugin = 'p'\nconfig = { a = '${file:~/large}' }":     "cannot be read: it is longer than 65536 bytes",
		"plugin = 'p'\nconfig = { a = '${file:~/}' }":          "cannot be read: it is no regular file",
		"plugin = 'p'\nconfig = { a = '${keyring:x}' }":        "names no entry of the keyring: write ${keyring:SERVICE/ACCOUNT}",
		"plugin = 'p'\nconfig = { a = '${keyring:x/locked}' }": "its entry \"x/locked\" of the keyring cannot be had: it is locked",
		"plugin = 'p'\nconfig = { a = '${file:$X}' }":          "write ${file:PATH} or ${keyring:SERVICE/ACCOUNT}, without variables in it",
		"plugin = 'p'\nconfig = { a = '${file:}' }":            "write ${file:PATH}",
	} {
		if _, err := entry(t, lines).Resolve(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", lines, err, want)
		}
	}
	r.Keyring = nil
	if _, err := entry(t, "plugin = 'p'\nconfig = { a = '${keyring:x/y}' }").Resolve(t.Context(), r); err == nil || !strings.Contains(err.Error(), "there is none here") {
		t.Errorf("without a keyring: %v", err)
	}
	// A variable that is not set is told before the keyring asks a person.
	asked, r.Keyring = 0, keyring(&asked)
	if _, err := entry(t, "plugin = 'p'\nconfig = { a = '${keyring:x/y}', b = '$TOKEN' }").Resolve(t.Context(), r); err == nil || asked != 0 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}
