package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

// LooksSecret reports whether a value that the file holds as it is may be a secret,
// by the name of its key or by its looks. It rather says yes.
func LooksSecret(key, value string) bool {
	return secretName().MatchString(key) && !LooksPlain(value) || concealRandom(value) != value && !LooksPlain(value)
}

// LooksPlain reports whether a value is a path, or an address without credentials:
// something that many messages hold, and no secret.
func LooksPlain(value string) bool {
	if strings.HasPrefix(value, "~/") || strings.HasPrefix(value, "./") || filepath.IsAbs(value) && strings.Count(value, "/")+strings.Count(value, `\`) > 1 && !strings.HasSuffix(value, "=") {
		return true
	}
	u, err := url.Parse(value)
	return err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && concealURL(value) == value
}
