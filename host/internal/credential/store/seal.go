package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// Keyring is the system's own store of secrets. ErrNoSecret from Get says that it
// works and holds none of that name.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
}

// ErrNoSecret says that the keyring holds no secret of that name.
var ErrNoSecret = errors.New("the keyring holds no such secret")

const keySize = 32 // AES-256

// sealing returns the key that the file is sealed with, and nil where there is no
// keyring: then the file's own permissions are what protects it. A file that is not
// sealed is sealed when it is written again and a keyring has come.
func (s *Store) sealing() []byte {
	if s.key != nil || s.Keyring == nil || s.unfit {
		return s.key
	}
	key, err := s.fetchKey()
	if errors.Is(err, ErrNoSecret) {
		key, err = s.makeKey()
	}
	if err != nil { // locked, forgetful, or only looks like one; it is not asked again
		s.unfit = true
		return nil
	}
	s.key = key
	return key
}

func (s *Store) makeKey() ([]byte, error) {
	key := make([]byte, keySize)
	rand.Read(key)
	if err := s.Keyring.Set(s.Path, base64.StdEncoding.EncodeToString(key)); err != nil {
		return nil, err
	}
	back, err := s.fetchKey()
	if err == nil && !bytes.Equal(back, key) {
		err = errors.New("the keyring does not keep what is stored in it")
	}
	return key, err
}

func (s *Store) fetchKey() ([]byte, error) {
	text, err := s.Keyring.Get(s.Path)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != keySize {
		return nil, errors.New("the secret in the keyring is no key of collet's")
	}
	return key, nil
}

func seal(key []byte, c Contents) ([]byte, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, nil), nil
}

func (s *Store) unseal(sealed []byte) ([]byte, error) {
	const retry = "unlock the keyring, or move the file away and log in again"
	if s.key == nil {
		if s.Keyring == nil {
			return nil, errors.New("it is sealed with a key in the keyring, which is not used here; " + retry)
		}
		key, err := s.fetchKey()
		if err != nil {
			return nil, fmt.Errorf("it is sealed with a key in the keyring, and the keyring does not give out the key: %w; %s", err, retry)
		}
		s.key = key
	}
	aead, err := newAEAD(s.key)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		s.key = nil // it may have been replaced
		return nil, errors.New("it is damaged, or sealed with another key than the keyring's")
	}
	return plain, nil
}

// newAEAD makes a nonce for each sealing itself, and puts it in front.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
