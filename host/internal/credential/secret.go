package credential

import "github.com/collet-dev/collet/host/internal/credential/store"

// Secret is an entry of the system's keyring that a person has made: a service and an
// account, as the keyring's own tools name them. It waits at most 20 s for the person
// to unlock it.
func Secret(service, account string) (string, error) { return store.Secret(service, account) }
