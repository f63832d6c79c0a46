package control

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// heardOf is what a host says to somebody who says that, until it hangs up.
func heardOf(t *testing.T, port string, said []byte) []byte {
	t.Helper()
	conn, err := net.Dial("tcp4", port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write(said) // it may have hung up before it was all said
	heard, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after %q the connection stays", said)
	}
	return heard
}

// Who does not know the token is told nothing and has nothing done: not even what ends
// the host.
func TestWrongToken(t *testing.T) {
	via := new(loopback)
	s := serve(t, "none", via)
	stops := make(chan bool, 100)
	s.Stop = func() { stops <- true }
	s.until(t, 0) // and the host knows of Stop
	port := via.at.port.String()

	var request bytes.Buffer // what a client says after its token
	st := newStream(&recorder{to: &request})
	for _, op := range []byte{opHello, opStop} {
		if err := st.write(op, 1, pack(hello{build})); err != nil {
			t.Fatal(err)
		}
	}
	token := via.at.client
	swapped := map[bool]string{true: "B", false: "A"}[token[0] == 'A']
	for name, said := range map[string]string{
		"nothing":             "",
		"no token":            request.String(),
		"a part of the token": token[:secretSize-1],
		"the start is wrong":  swapped + token[1:] + request.String(),
		"the end is wrong":    token[:secretSize-1] + "!" + request.String(),
		"in small letters":    strings.ToLower(token) + request.String(),
		"the host's own":      via.at.host + request.String(),
		"HTTP":                "POST / HTTP/1.1\r\nHost: " + port + "\r\n\r\n",
	} {
		if heard := heardOf(t, port, []byte(said)); len(heard) > 0 {
			t.Errorf("%s: it said %q", name, heard)
		}
	}
	s.until(t, 0)
	if len(stops) > 0 {
		t.Error("a stranger ended the host")
	}

	// The same request after the right token is heard.
	conn, err := net.Dial("tcp4", port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, token+request.String()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stops:
	case <-time.After(patience):
		t.Error("the right token is refused")
	}
}

// recorder is a connection that keeps what is said.
type recorder struct {
	net.Conn
	to io.Writer
}

func (r *recorder) Write(p []byte) (int, error)      { return r.to.Write(p) }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// A host that was killed leaves its file. Nobody is there then, or a stranger who was
// given the port: they hear one secret, which is worth nothing any more, and no more.
func TestStaleAddress(t *testing.T) {
	p := place(t)
	via := new(loopback)
	o, err := own(p, via)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadFile(p.socket())
	if err != nil {
		t.Fatal(err)
	}
	port := via.at.port.String()
	o.Release()
	if _, err := dial(t.Context(), p, build, via); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	if err := os.WriteFile(p.socket(), left, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := dial(t.Context(), p, build, via); err == nil {
		c.Close()
		t.Error("nobody is there")
	}

	l, err := net.Listen("tcp4", port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, says := range map[string]string{"nothing": "", "something": strings.Repeat("A", secretSize), "what it hears": "echo"} {
		heard := make(chan []byte, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				heard <- nil
				return
			}
			defer conn.Close()
			first := make([]byte, secretSize)
			_, _ = io.ReadFull(conn, first)
			if says == "echo" {
				says = string(first)
			}
			_, _ = io.WriteString(conn, says)
			more, _ := io.ReadAll(conn)
			heard <- append(first, more...)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // one of them never answers
		_, err := dial(ctx, p, build, via)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "is not the host that wrote") {
			t.Errorf("a stranger who says %s: %v", name, err)
		}
		if got := <-heard; string(got) != via.at.client {
			t.Errorf("a stranger who says %s hears %q", name, got)
		}
	}
	l.Close()

	if o, err = own(p, via); err != nil { // and the next host takes its place
		t.Fatal(err)
	}
	defer o.Release()
	if now, _ := os.ReadFile(p.socket()); bytes.Equal(now, left) {
		t.Error("the file is that of the dead one")
	}
}

// A file that is not whole, or leads away from this machine, is not followed.
func TestReadAddress(t *testing.T) {
	secret := strings.Repeat("S", secretSize)
	good := "127.0.0.1:4711 " + secret + " " + secret + "\n"
	for _, c := range []struct{ text, want string }{
		{good, ""},
		{"", "damaged"},
		{strings.TrimSuffix(good, "\n"), "damaged"},
		{"127.0.0.1:4711 " + secret + "\n", "damaged"},
		{"127.0.0.1:4711 short " + secret + "\n", "damaged"},
		{"127.0.0.1:4711  \n", "damaged"},
		{good + good, "damaged"},
		{strings.Replace(good, "127.0.0.1", "192.0.2.1", 1), "not on this machine"},
		{strings.Replace(good, "127.0.0.1", "0.0.0.0", 1), "not on this machine"},
		{strings.Replace(good, "127.0.0.1", "localhost", 1), "damaged"},
		{strings.Replace(good, "4711", "99999", 1), "damaged"},
		{strings.Repeat("x", 10*maxAddress), "damaged"},
	} {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := readAddress(path)
		if c.want == "" && (err != nil || a.port.String() != "127.0.0.1:4711" || a.client != secret || a.host != secret) {
			t.Errorf("%q: %+v, %v", c.text, a, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// What is written can be read by its user alone, and is not written through what
// somebody left there.
func TestAddressFile(t *testing.T) {
	p := place(t)
	if err := private(p.Dir); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "x")
	for _, path := range []string{p.socket(), p.socket() + ".part"} {
		if err := os.Symlink(elsewhere, path); err != nil && runtime.GOOS != "windows" { // where it needs a privilege
			t.Fatal(err)
		}
	}
	o, err := own(p, new(loopback))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("it was written through a link")
	}
	info, err := os.Lstat(p.socket())
	if err != nil || !info.Mode().IsRegular() {
		t.Fatalf("%v %v", info, err)
	}
	if runtime.GOOS == "windows" {
		return // modes say nothing there; TestMakeDir looks at rights
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o", info.Mode().Perm())
	}
	if err := os.Chmod(p.socket(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readAddress(p.socket()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
	if os.Getuid() != 0 {
		return // who is not root cannot give it away
	}
	if err := errors.Join(os.Chmod(p.socket(), 0o600), os.Chown(p.socket(), 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := readAddress(p.socket()); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("a file of another user: %v", err)
	}
}
