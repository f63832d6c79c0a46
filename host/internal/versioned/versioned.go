// Package versioned reads the JSON files that a host keeps for later ones: each says
// its version, and another version's words may mean something else. It writes nothing.
package versioned

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tidwall/gjson"
)

// Read decodes data, an object whose member version is want, into doc. A member that
// doc does not know is an error, as is all that is no such object. The error goes on
// after the file's name and says what is wrong with it.
func Read(data []byte, want int, doc any) error {
	// Most files are of this version and say so at their beginning: those are not gone
	// through twice.
	if gjson.GetBytes(data, "version").Raw != strconv.Itoa(want) {
		if err := refuse(data, want); err != nil {
			return err
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(doc); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it is damaged: something follows its end")
	}
	return nil
}

// refuse says what is wrong with a file that is of another version; nil when it is not.
func refuse(data []byte, want int) error {
	var head struct {
		Version *int `json:"version"`
	}
	switch err := json.Unmarshal(data, &head); {
	case err != nil:
		return fmt.Errorf("it is damaged: %w", err)
	case head.Version == nil:
		return errors.New("it is damaged: it has no version")
	case *head.Version > want:
		return fmt.Errorf("it has version %d, and this collet knows version %d: a newer collet wrote it", *head.Version, want)
	case *head.Version != want:
		return fmt.Errorf("it has version %d, and this collet knows version %d", *head.Version, want)
	}
	return nil
}
