package terminal

import "io"

// Waiting is In for a reader that waits for its next bytes most of the time; done
// is called when it reads no more.
func (s *Streams) Waiting() (in io.Reader, done func()) { return s.In, func() {} }
