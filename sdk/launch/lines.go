package launch

import (
	"bytes"
)

// maxLine bounds one line of a plugin's output, in bytes; what exceeds it is
// dropped. It is the pipe's own size, so a longer line was never written at once.
const maxLine = 64 << 10

// lines splits chunks of output into lines. It keeps at most maxLine bytes.
type lines struct {
	emit func(line []byte) // without newline; valid during the call
	part []byte
}

func (l *lines) write(chunk []byte) {
	for len(chunk) > 0 {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			l.keep(chunk)
			return
		}
		if len(l.part) == 0 && i <= maxLine {
			l.emit(bytes.TrimSuffix(chunk[:i], []byte("\r")))
		} else {
			l.keep(chunk[:i])
			l.flush()
		}
		chunk = chunk[i+1:]
	}
}

// end emits a last line that has no newline.
func (l *lines) end() {
	if len(l.part) > 0 {
		l.flush()
	}
}

func (l *lines) keep(b []byte) {
	l.part = append(l.part, b[:min(len(b), maxLine-len(l.part))]...)
}

func (l *lines) flush() {
	l.emit(bytes.TrimSuffix(l.part, []byte("\r")))
	l.part = l.part[:0]
}
