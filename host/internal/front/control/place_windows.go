package control

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"
)

// gate lets in those who know the token, which is in a file of the user's profile.
type gate struct{ token string }

func (g *gate) listen(place Place) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g.token = rand.Text()
	part := place.socket() + ".part"
	err = os.WriteFile(part, []byte(l.Addr().String()+" "+g.token), 0o600)
	if err == nil {
		err = os.Rename(part, place.socket())
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (g *gate) check(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(helloWait)); err != nil {
		return err
	}
	said := make([]byte, len(g.token))
	if _, err := io.ReadFull(conn, said); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(said, []byte(g.token)) != 1 {
		return errors.New("the token is wrong")
	}
	return conn.SetReadDeadline(time.Time{})
}

func (p Place) dial(ctx context.Context) (net.Conn, error) {
	said, err := os.ReadFile(p.socket())
	if err != nil {
		return nil, err
	}
	address, token, _ := strings.Cut(string(said), " ")
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, token); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// owned has nothing to look at: the profile directory is its owner's by its access
// list.
func owned(fs.FileInfo) error { return nil }

// writable leaves it to who makes a file there.
func writable(string) bool { return true }

func shortDir() string { return "" }
