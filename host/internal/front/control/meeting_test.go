package control

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// What other builds said, byte for byte, when these messages were made. Should a test
// of these fail, the messages have changed, and not the tests are to be mended: a host
// that runs is of a build of then.
const (
	helloOfAnother = "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00.\x1c\x7f\x03\x01\x01\x05hello\x01\xff\x80\x00\x01\x01\x01\x05Build\x01\f\x00\x00\x00\x10\xff\x80\x01\v1.0 another\x00"
	yieldOfAnother = "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00"
	stopOfAnother  = "\x03\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00"
	// A welcome with members that this build does not have, and one of another type.
	welcomeOfAnother = "\x04\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x01\bV\xff\x81\x03\x01\x01\aWelcome\x01\xff\x82\x00\x01\x06\x01\x05Build\x01\f\x00\x01\aVersion\x01\f\x00\x01\x03Pid\x01\x04\x00\x01\x05Since\x01\xff\x84\x00\x01\x05Fancy\x01\xff\x8a\x00\x01\aServers\x01\xff\x8c\x00\x00\x00\x10\xff\x83\x05\x01\x01\x04Time\x01\xff\x84\x00\x00\x00)\xff\x89\x04\x01\x01\x18map[string]control.Fancy\x01\xff\x8a\x00\x01\f\x01\xff\x86\x00\x00\x13\xff\x85\x03\x01\x02\xff\x86\x00\x01\x01\x01\x01A\x01\xff\x88\x00\x00\x00\x16\xff\x87\x02\x01\x01\b[]string\x01\xff\x88\x00\x01\f\x00\x00\x13\xff\x8b\x02\x01\x01\x05[]int\x01\xff\x8c\x00\x01\x04\x00\x006\xff\x82\x01\v2.0 another\x01\x032.0\x01\xff\x9a\x01\x0f\x01\x00\x00\x00\x0e\xb3,\xc1\x00\x00\x00\x00\x00\xff\xff\x01\x01\x01a\x01\x01\x01b\x00\x01\x02\x02\x04\x00"
)

// A host gives way to, and is stopped by, a build that has other messages.
func TestHostMeetsAnotherBuild(t *testing.T) {
	for name, ask := range map[string]string{"yield": yieldOfAnother, "stop": stopOfAnother} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "none", native())
			happened := make(chan string, 1)
			s.Yielded = func() { happened <- "yield" }
			s.Stop = func() { happened <- "stop" }
			conn, err := s.via.dial(t.Context(), s.place)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			st := newStream(conn)
			for id, said := range []string{helloOfAnother, ask} {
				if _, err := io.WriteString(conn, said); err != nil {
					t.Fatal(err)
				}
				m, err := st.read()
				if err != nil || m.op != 4 || m.id != uint64(id+1) {
					t.Fatalf("%+v, %v", m, err)
				}
				var g greeting
				if id == 0 && (unpack(m.body, &g) != nil || g.Build != build || g.Pid != pid) {
					t.Errorf("it says that it is %+v", g)
				}
			}
			if got := <-happened; got != name {
				t.Errorf("it was asked to %s, and does %s", name, got)
			}
		})
	}
}

// A client learns of a host of another build what it needs to take its place, whatever
// else that host says.
func TestClientMeetsAnotherBuild(t *testing.T) {
	asked := make(chan string, 2)
	c, err := dial(t.Context(), Place{}, build, canned(func(conn net.Conn) {
		defer close(asked)
		for _, answer := range []string{welcomeOfAnother, "\x04\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00"} {
			m, err := newStream(conn).read()
			if err != nil {
				return
			}
			asked <- string(rune('0' + m.op))
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	}))
	if !errors.Is(err, ErrOther) {
		t.Fatal(err)
	}
	defer c.Close()
	if w := c.Welcome; w.Build != "2.0 another" || w.Version != "2.0" || w.Pid != 77 || w.Since.Unix() != 1e9 || len(w.Servers) != 0 {
		t.Errorf("it is %+v", w)
	}
	if err := c.Yield(t.Context()); err != nil {
		t.Error(err)
	}
	if hello, yield := <-asked, <-asked; hello != "1" || yield != "2" {
		t.Errorf("it was asked with %s and %s", hello, yield)
	}
}

// canned is a host that is made of what it does with its one connection.
type canned func(net.Conn)

func (host canned) dial(context.Context, Place) (net.Conn, error) {
	near, far := net.Pipe()
	go host(far) // ends with the connection
	return near, nil
}

func (canned) listen(Place) (net.Listener, error) { panic("nobody listens") }
func (canned) admit(net.Conn) error               { panic("nobody is admitted") }

// One that is full says so, and to no more than can be told.
func TestFull(t *testing.T) {
	s := serve(t, "none", native())
	for range maxPeers {
		s.raw(t)
	}
	s.until(t, maxPeers)
	_, err := dial(t.Context(), s.place, build, s.via)
	if _, ok := errors.AsType[*RefusedError](err); !ok {
		t.Errorf("a host that serves as many as it can: %v", err)
	}
}

// What processes have begun to send and do not end is bounded for all of them
// together, and for one that has not said what it is to next to nothing.
func TestUnfinishedMessages(t *testing.T) {
	s := serve(t, "none", native())
	part := make([]byte, maxPart)
	stranger, err := s.via.dial(t.Context(), s.place)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	_ = newStream(stranger).frame(opHello, 1, part[:maxGreeting+1], true)
	if m, err := newStream(stranger).read(); err == nil {
		t.Errorf("a hello of any size: %+v", m)
	}
	var holders []*stream
	for range maxUnfinished/maxMessage + 1 {
		st := s.raw(t)
		if _, err := st.read(); err != nil {
			t.Fatal(err)
		}
		holders = append(holders, st)
		for range maxMessage / maxPart {
			if st.frame(opCall, 7, part, true) != nil {
				break // it has been refused already
			}
		}
	}
	last := holders[len(holders)-1]
	if m, err := last.read(); err == nil {
		t.Errorf("one more is held: %+v", m)
	}
	for _, st := range holders {
		st.conn.Close()
	}
	s.until(t, 0)
	if n := s.unfinished.Load(); n != 0 {
		t.Errorf("%d bytes of nobody count", n)
	}
}

// A second message under an ID that is in use ends the connection: what is said of
// the ID could be of either.
func TestIDInUse(t *testing.T) {
	s := serve(t, "none", native())
	st := s.raw(t)
	if _, err := st.read(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := st.write(opWatch, 7, nil); err != nil {
			t.Fatal(err)
		}
	}
	for {
		if _, err := st.read(); err != nil {
			break
		}
	}
	s.until(t, 0)
}
