package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"
)

// keyringWait bounds one question to the keyring, which may want to ask a person for
// its password.
const keyringWait = 20 * time.Second

// service is the name under which the keyring's own tools list our secrets.
const service = "collet"

// System is the keyring of this system and session: the keychain of macOS, the
// credential manager of Windows, the Secret Service of a Linux desktop. nil where
// there is none, on a server or in a container.
func System() Keyring {
	if !reachable() {
		return nil
	}
	return system{}
}

type system struct{}

func (system) Get(name string) (string, error) {
	return within(func() (string, error) {
		secret, err := keyring.Get(service, name)
		if errors.Is(err, keyring.ErrNotFound) {
			err = ErrNoSecret
		}
		return secret, err
	})
}

func (system) Set(name, secret string) error {
	_, err := within(func() (string, error) { return "", keyring.Set(service, name, secret) })
	return err
}

// within bounds what takes no context. A question that nobody answers stays behind
// until the process ends.
func within(ask func() (string, error)) (string, error) {
	type answer struct {
		secret string
		err    error
	}
	c := make(chan answer, 1)
	go func() {
		secret, err := ask()
		c <- answer{secret, err}
	}()
	select {
	case a := <-c:
		return a.secret, a.err
	case <-time.After(keyringWait):
		return "", fmt.Errorf("the keyring did not answer within %s", keyringWait)
	}
}
