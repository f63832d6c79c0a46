package results

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/collet-dev/collet/sdk/failure"
)

// A file is a line that says how long the header is and what its sum is, the
// header as JSON, the body (the result as received, then its text where that is
// no part of it), and the sums of the body's chunks, so that a part of a large
// result is read without the rest and yet is what was written.
const (
	magic     = "collet-result 1 "
	firstLine = len(magic) + 8 + 1 + 8 + 1 // magic, sum, space, length in hex, newline
	maxHeader = 64 << 10
	chunk     = 64 << 10
	// maxBody is beyond every result: 65 MiB is the limit of one message to an
	// adapter, and its text is no longer than the result.
	maxBody = 256 << 20
)

var sums = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// header is what a file says of its body.
type header struct {
	Tool  string `json:"tool"`
	Raw   int64  `json:"raw"`   // bytes of the result, from the body's first on
	Text  span   `json:"text"`  // where its text is in the body
	Lines int64  `json:"lines"` // of the text
	Body  int64  `json:"body"`
}

type span struct {
	At     int64 `json:"at"`
	Length int64 `json:"length"`
}

// document is a file to be written.
type document struct {
	head header
	body [2][]byte // the result, and its text if that is not in it
}

func newDocument(tool string, raw []byte) *document {
	t := textOf(raw)
	d := &document{head: header{Tool: tool, Raw: int64(len(raw)), Text: t.at, Lines: countLines(t.bytes)}, body: [2][]byte{raw, nil}}
	if t.apart {
		d.body[1] = t.bytes
		d.head.Text = span{int64(len(raw)), int64(len(t.bytes))}
	}
	d.head.Body = int64(len(d.body[0]) + len(d.body[1]))
	return d
}

// size is about that of the file.
func (d *document) size() int64 { return d.head.Body + 4*chunksOf(d.head.Body) + 1<<10 }

func chunksOf(body int64) int64 { return (body + chunk - 1) / chunk }

// write writes the new file called name, with mode 0600.
func (d *document) write(root *os.Root, name string) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(d.writeTo(file), file.Close()); err != nil {
		_ = root.Remove(name)
		return err
	}
	return nil
}

func (d *document) writeTo(w io.Writer) error {
	head, err := json.Marshal(d.head)
	if err != nil {
		return err
	}
	if len(head) > maxHeader {
		return errors.New("the tool's name is too long")
	}
	if _, err := fmt.Fprintf(w, "%s%08x %08x\n%s", magic, crc32.Checksum(head, sums()), len(head), head); err != nil {
		return err
	}
	for _, part := range d.body {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	_, err = w.Write(d.sums())
	return err
}

// sums are those of the chunks of the body as a whole.
func (d *document) sums() []byte {
	all := make([]byte, 0, 4*chunksOf(d.head.Body))
	var sum uint32
	var have int
	for _, part := range d.body {
		for len(part) > 0 {
			n := min(len(part), chunk-have)
			sum, have, part = crc32.Update(sum, sums(), part[:n]), have+n, part[n:]
			if have == chunk {
				all = binary.LittleEndian.AppendUint32(all, sum)
				sum, have = 0, 0
			}
		}
	}
	if have > 0 {
		all = binary.LittleEndian.AppendUint32(all, sum)
	}
	return all
}

// kept is a file that is being read. It is for one reader at a time.
type kept struct {
	header
	file *os.File
	at   int64 // of the body
	sums []byte

	last  int64 // the chunk that is in cache
	cache []byte
}

// load reads what a file says of itself and closes it when that cannot be.
func load(file *os.File) (*kept, error) {
	k := &kept{file: file, last: -1}
	if err := k.load(); err != nil {
		file.Close()
		return nil, damaged(err)
	}
	return k, nil
}

func damaged(err error) *failure.Failure {
	f := refused(failure.InvalidResult, "the kept result is damaged and cannot be read: %w", err)
	f.Delivery = failure.Answered
	return f
}

func (k *kept) load() error {
	first := make([]byte, firstLine)
	if _, err := k.file.ReadAt(first, 0); err != nil {
		return fmt.Errorf("its beginning: %w", err)
	}
	var sum uint32
	var length int64
	if n, err := fmt.Sscanf(string(first), magic+"%08x %08x\n", &sum, &length); n != 2 || err != nil || length > maxHeader || length < 0 {
		return errors.New("it does not begin as a kept result of this version does")
	}
	head := make([]byte, length)
	if _, err := k.file.ReadAt(head, int64(firstLine)); err != nil {
		return fmt.Errorf("its header: %w", err)
	}
	if crc32.Checksum(head, sums()) != sum {
		return errors.New("its header has another checksum")
	}
	if err := json.Unmarshal(head, &k.header); err != nil {
		return fmt.Errorf("its header: %w", err)
	}
	// A checksum keeps nobody from writing nonsense.
	if k.Body < 0 || k.Body > maxBody || k.Raw < 0 || k.Raw > k.Body || k.Text.At < 0 || k.Text.Length < 0 || k.Text.Length > k.Body || k.Text.At > k.Body-k.Text.Length {
		return errors.New("its header contradicts itself")
	}
	k.at = int64(firstLine) + length
	k.sums = make([]byte, 4*chunksOf(k.Body))
	if n, err := k.file.ReadAt(k.sums, k.at+k.Body); n < len(k.sums) {
		return fmt.Errorf("it is cut off: %w", err)
	}
	return nil
}

func (k *kept) Close() error { return k.file.Close() }

// ReadAt reads from the body and checks every chunk it reads from.
func (k *kept) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		if off >= k.Body {
			return n, io.EOF
		}
		data, err := k.chunk(off / chunk)
		if err != nil {
			return n, err
		}
		m := copy(p[n:], data[off%chunk:])
		n, off = n+m, off+int64(m)
	}
	return n, nil
}

func (k *kept) chunk(i int64) ([]byte, error) {
	if i == k.last {
		return k.cache, nil
	}
	k.last = -1
	length := min(chunk, k.Body-i*chunk)
	if k.cache == nil {
		k.cache = make([]byte, chunk)
	}
	k.cache = k.cache[:length]
	if n, err := k.file.ReadAt(k.cache, k.at+i*chunk); n < int(length) {
		return nil, err
	}
	if crc32.Checksum(k.cache, sums()) != binary.LittleEndian.Uint32(k.sums[4*i:]) {
		return nil, fmt.Errorf("bytes %d to %d have another checksum", i*chunk, i*chunk+length)
	}
	k.last = i
	return k.cache, nil
}
