package mcp

import (
	"bytes"
	"math"
	"strconv"
)

// envelope is one JSON-RPC message, its members still as written; a member that
// is absent is nil. Names match exactly: "Result" is an unknown member, which
// JSON-RPC 2.0 lets us ignore, and never stands for "result".
type envelope struct {
	version, id, method, params, result, err []byte
	// repeated names the first of these members that occurs twice. Such a message
	// is refused as a whole: which of the two counts differs from parser to
	// parser, so what one of them checked need not be what another one runs.
	repeated string
}

// scanEnvelope checks the object that starts at b[i] and returns it together
// with the index after it. On an error the envelope holds what came before the
// fault.
func scanEnvelope(b []byte, i int) (envelope, int, error) {
	var e envelope
	end, err := eachMember(b, i, 0, func(name, value []byte) {
		slot, known := e.slot(name)
		switch {
		case slot == nil:
		case *slot == nil:
			*slot = value
		case e.repeated == "":
			e.repeated = known
		}
	})
	return e, end, err
}

func (e *envelope) slot(name []byte) (*[]byte, string) {
	switch {
	case sameName(name, "jsonrpc"):
		return &e.version, "jsonrpc"
	case sameName(name, "id"):
		return &e.id, "id"
	case sameName(name, "method"):
		return &e.method, "method"
	case sameName(name, "params"):
		return &e.params, "params"
	case sameName(name, "result"):
		return &e.result, "result"
	case sameName(name, "error"):
		return &e.err, "error"
	}
	return nil, ""
}

// isMessage tells a message from another JSON object on stdout, above all from
// a log record. An answer may lack "jsonrpc": some servers leave it out.
func (e *envelope) isMessage() bool {
	return e.version != nil || e.id != nil && e.method == nil && (isObject(e.result) || isObject(e.err))
}

// parseID returns the request id of ours that value stands for. Ours are
// integers from 1; peers send them back as 7, 7.0, 7e0 or "7", which are all
// unambiguous because every id of ours is a number.
func parseID(value []byte) (uint64, bool) {
	if len(value) > 2 && value[0] == '"' {
		value = value[1 : len(value)-1]
		if len(value) > 1 && value[0] == '0' || skipDigits(value, 0) != len(value) {
			return 0, false
		}
	}
	if len(value) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range value {
		if c < '0' || c > '9' || n > 1<<53 {
			return parseFloatID(value)
		}
		n = n*10 + uint64(c-'0')
	}
	return n, n != 0
}

// parseFloatID reads 7.0 and 7e0. A float64 holds every integer below
// 2^53 exactly, and a session does not count that far.
func parseFloatID(value []byte) (uint64, bool) {
	if c := value[0]; c < '0' || c > '9' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f < 1 || f >= 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return uint64(f), true
}

// idOfBroken looks for the id of an answer that cannot be read as a whole: head
// is how its line starts, tail how it ends (both may be the whole line, of which
// only the end is searched). Servers
// write the id before or after the result, so both are tried. A candidate at the
// end counts only when it closes the message, which an "id" inside the result
// cannot.
func idOfBroken(head, tail []byte) (uint64, bool) {
	if i := bytes.IndexByte(head, '{'); i >= 0 {
		e, _, _ := scanEnvelope(head, i)
		if e.id != nil && e.method == nil {
			return parseID(e.id)
		}
	}
	tail = bytes.TrimRight(tail[max(0, len(tail)-keptTail):], " \t\r\n")
	name := []byte(`"id"`)
	for {
		i := bytes.Index(tail, name)
		if i < 0 {
			return 0, false
		}
		rest := append([]byte{'{'}, tail[i:]...)
		if e, end, err := scanEnvelope(rest, 0); err == nil && end == len(rest) && e.method == nil {
			return parseID(e.id)
		}
		tail = tail[i+len(name):]
	}
}
