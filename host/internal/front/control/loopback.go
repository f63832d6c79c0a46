package control

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/sharedfile"
)

// loopback is a port of the loopback interface, for systems whose sockets cannot tell
// which user is at the other end. Where a unix host has its socket, this one has a file
// that only its user can read, with the port and two secrets. A client sends the first
// secret before anything else, and the host answers with the second. A client therefore
// says nothing to a stranger who was given the port of a host that died.
type loopback struct{ at address }

// address is what the file holds: "127.0.0.1:PORT CLIENT HOST\n".
type address struct {
	port         netip.AddrPort
	client, host string // what each end says first
}

const (
	// secretSize is the length of rand.Text, which has at least 128 random bits.
	secretSize = 26
	// maxAddress is more than an address takes in its file.
	maxAddress = 128
)

func (l *loopback) listen(place Place) (net.Listener, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l.at = address{listener.Addr().(*net.TCPAddr).AddrPort(), rand.Text(), rand.Text()}
	if err := l.at.write(place.socket()); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// admit reads the client's secret, and no byte after it.
func (l *loopback) admit(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(greetWait)); err != nil {
		return err
	}
	if err := hear(conn, l.at.client); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, l.at.host); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

func (*loopback) dial(ctx context.Context, place Place) (net.Conn, error) {
	at, err := readAddress(place.socket())
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", at.port.String())
	if err != nil {
		return nil, err
	}
	past := func() { _ = conn.SetDeadline(time.Unix(1, 0)) }
	stop := context.AfterFunc(ctx, past)
	if _, err = io.WriteString(conn, at.client); err == nil {
		err = hear(conn, at.host)
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s is not the host that wrote %s: %w", at.port, place.socket(), err)
	}
	return conn, nil
}

// hear reads a secret of the other end.
func hear(conn net.Conn, secret string) error {
	said := make([]byte, len(secret))
	if _, err := io.ReadFull(conn, said); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(said, []byte(secret)) != 1 {
		return errors.New("the token is wrong")
	}
	return nil
}

// write makes the file, at once and not through a link that is there.
func (a address) write(path string) error {
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %s %s\n", a.port, a.client, a.host)
	if err = errors.Join(err, file.Close()); err == nil {
		err = sharedfile.Rename(os.Rename, part, path)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}

// readAddress believes a file of this user alone that names a port of this machine.
func readAddress(path string) (address, error) {
	file, err := os.Open(path)
	if err != nil {
		return address{}, err
	}
	defer file.Close()
	if err := owned(file); err != nil {
		return address{}, fmt.Errorf("%s is not believed: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxAddress))
	if err != nil {
		return address{}, err
	}
	line, whole := bytes.CutSuffix(text, []byte("\n"))
	words := strings.Split(string(line), " ")
	if !whole || len(words) != 3 || len(words[1]) != secretSize || len(words[2]) != secretSize {
		return address{}, fmt.Errorf("%s is damaged", path)
	}
	a := address{client: words[1], host: words[2]}
	if a.port, err = netip.ParseAddrPort(words[0]); err != nil {
		return address{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if !a.port.Addr().IsLoopback() {
		return address{}, fmt.Errorf("%s is damaged: %s is not on this machine", path, a.port)
	}
	return a, nil
}
