package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func (s *server) openLog(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.logger = f
	return err
}

// log appends one JSON line, in one write; message is JSON, text or empty.
func (s *server) log(event, message string) {
	if s.logger == nil {
		return
	}
	l := `{"event":` + quote(event) + fmt.Sprintf(`,"pid":%d`, os.Getpid())
	if json.Valid([]byte(message)) {
		l += `,"message":` + message
	} else if message != "" {
		l += `,"text":` + quote(message)
	}
	if _, err := s.logger.WriteString(l + "}\n"); err != nil {
		fatal(err.Error())
	}
}
