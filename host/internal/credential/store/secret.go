package store

import (
	"errors"

	"github.com/zalando/go-keyring"
)

// Secret is an entry of the system's keyring that others have made. It waits at most
// 20 s for a person to unlock the keyring.
func Secret(service, account string) (string, error) {
	if !reachable() {
		return "", errors.New("there is no keyring on this system, or in this session")
	}
	return within(func() (string, error) {
		secret, err := keyring.Get(service, account)
		if errors.Is(err, keyring.ErrNotFound) {
			err = errors.New("the keyring has no such entry")
		}
		return secret, err
	})
}
