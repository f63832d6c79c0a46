package credential

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/host/internal/credential/store"
	"github.com/collet-dev/collet/sdk/failure"
)

const (
	// childVariable makes the test program one of the processes that share a store.
	childVariable = "COLLET_TEST_CREDENTIAL_CHILD"
	processes     = 8
	callers       = 16
	patience      = 2 * time.Minute
)

// part is what a child process is told.
type part struct {
	Path, Resource string
	Login          bool // log in with every line instead of calling
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(childVariable); raw != "" {
		var p part
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			panic(err)
		}
		p.play()
		return
	}
	os.Exit(m.Run())
}

// play has 16 callers make one call each with every line of stdin, and prints what
// failed, "" when nothing did.
func (p part) play() {
	k := Open(Options{Path: p.Path, Keyring: KeyringOff})
	s := Settings{Server: "docs", Resource: p.Resource}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var mu sync.Mutex
		var failed []string
		note := func(err error) {
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err.Error())
			}
		}
		if p.Login {
			_, err := k.Login(ctx, s, Need{}, &visitor{})
			note(err)
		} else {
			var all sync.WaitGroup
			for range callers {
				all.Go(func() { note(call(ctx, k, s)) })
			}
			all.Wait()
		}
		fmt.Printf("%q\n", strings.Join(failed, "; "))
	}
	k.Close()
}

// call is one request to the resource as adapters make it: with the token there is,
// and once more with another when that is refused.
func call(ctx context.Context, k *Keeper, s Settings) error {
	var need Need
	for {
		tok, err := k.Token(ctx, s, need)
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Resource, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", tok.Scheme+" "+tok.Value)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusOK:
			return nil
		case need.Rejected != "":
			return fmt.Errorf("status %d with a second token", resp.StatusCode)
		}
		need = Need{Rejected: tok.Value, Challenge: resp.Header.Get("WWW-Authenticate")}
	}
}

// child is a process that shares a store.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, p part) *child {
	t.Helper()
	raw, _ := json.Marshal(p)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(raw))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // one that was killed says so
	})
	if c.line(t) != "ready" {
		t.Fatal("the process did not start")
	}
	return c
}

func (c *child) begin(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the process ended: %v", c.out.Err())
	}
	return c.out.Text()
}

// outdate has the credential expire, for the server and for whoever holds it.
func outdate(t *testing.T, as *fakeauth.Server, path string) {
	t.Helper()
	st := &store.Store{Path: path}
	err := st.Change(t.Context(), func(c *store.Contents) error {
		for i := range c.Credentials {
			e := &c.Credentials[i]
			e.Obtained = e.Obtained.Add(-2 * time.Hour)
			if !e.Expiry.IsZero() {
				e.Expiry = time.Now().Add(-time.Second)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	as.Expire()
}

// together has all processes make their calls at once, and returns what failed.
func together(t *testing.T, all []*child) (failed []string) {
	t.Helper()
	for _, c := range all {
		c.begin(t)
	}
	for _, c := range all {
		if line := c.line(t); line != `""` {
			failed = append(failed, line)
		}
	}
	return failed
}

// 8 processes of 16 callers each meet the end of a token at once, again and again:
// one refresh each time, no reuse, no call that fails.
func TestProcesses(t *testing.T) {
	const rounds = 5
	for name, setup := range map[string]func(*fakeauth.Server){
		"a lifetime":    func(*fakeauth.Server) {},
		"none":          func(as *fakeauth.Server) { as.ExpiresIn = "-" },
		"in a string":   func(as *fakeauth.Server) { as.ExpiresIn = `"3600"` },
		"slow answers":  func(as *fakeauth.Server) { as.After = slowly },
		"static tokens": func(as *fakeauth.Server) { as.Static = true },
	} {
		t.Run(name, func(t *testing.T) {
			as := fakeauth.Start(t)
			setup(as)
			k := open(t)
			mustLogin(t, k, settings(as))
			var all []*child
			for range processes {
				all = append(all, startChild(t, part{Path: k.opt.Path, Resource: as.Resource()}))
			}
			for range rounds {
				outdate(t, as, k.opt.Path)
				for _, f := range together(t, all) {
					t.Errorf("failed: %s", f)
				}
			}
			if c := as.Counts(); c.Refreshes != rounds || c.Reuses != 0 || c.Revocations != 0 {
				t.Errorf("%+v, want %d refreshes and nothing revoked", c, rounds)
			}
			if st, err := k.Status(t.Context(), settings(as)); err != nil || st.State != LoggedIn {
				t.Errorf("status %+v, %v", st, err)
			}
		})
	}
}

// slowly holds an answer back for longer than a caller needs to give up a lock that
// is not waited for.
func slowly(_ int, _ http.ResponseWriter, r *http.Request) bool {
	select {
	case <-time.After(300 * time.Millisecond):
	case <-r.Context().Done():
	}
	return false
}

// hangUp ends a connection without an answer.
func hangUp(w http.ResponseWriter) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	return true
}

// Whatever goes wrong between here and the authorization server, nobody is logged
// out, and nothing fails that has a second chance.
func TestProcessesWithFaults(t *testing.T) {
	var n atomic.Int32 // of token requests after the login
	for name, fault := range map[string]func(n int, w http.ResponseWriter, r *http.Request) bool{
		"status 500": func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n%2 == 1 {
				http.Error(w, "<html>", http.StatusInternalServerError)
			}
			return n%2 == 1
		},
		"503 with a pause": func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n%2 == 1 {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "", http.StatusServiceUnavailable)
			}
			return n%2 == 1
		},
		"no answer": func(n int, w http.ResponseWriter, _ *http.Request) bool { return n%2 == 1 && hangUp(w) },
		"nonsense": func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n%2 == 1 {
				io.WriteString(w, `{"access_token":`)
			}
			return n%2 == 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			as := fakeauth.Start(t)
			k := open(t)
			mustLogin(t, k, settings(as))
			n.Store(0)
			as.Change(func() {
				as.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { return fault(int(n.Add(1)), w, r) }
			})
			var all []*child
			for range 3 {
				all = append(all, startChild(t, part{Path: k.opt.Path, Resource: as.Resource()}))
			}
			for range 2 {
				outdate(t, as, k.opt.Path)
				for _, f := range together(t, all) {
					t.Errorf("failed: %s", f)
				}
			}
			if c := as.Counts(); c.Refreshes != 2 || c.Reuses != 0 || c.Revocations != 0 {
				t.Errorf("%+v, want 2 refreshes", c)
			}
		})
	}
}

// An answer that is lost after the server has rotated the token is asked for again
// at once, within what servers allow for it.
func TestLostAnswer(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	mustLogin(t, k, settings(as))
	as.Change(func() {
		as.Grace = true
		as.After = func(n int, w http.ResponseWriter, _ *http.Request) bool { return n == 2 && hangUp(w) }
	})
	outdate(t, as, k.opt.Path)
	if err := call(t.Context(), k, settings(as)); err != nil {
		t.Error(err)
	}
	if c := as.Counts(); c.Refreshes != 1 || c.Reuses != 0 {
		t.Errorf("%+v", c)
	}
}

// Two processes that log in at once end with one credential, and it is good.
func TestLoginsAtOnce(t *testing.T) {
	as := fakeauth.Start(t)
	k := open(t)
	p := part{Path: k.opt.Path, Resource: as.Resource(), Login: true}
	for range 3 {
		if failed := together(t, []*child{startChild(t, p), startChild(t, p)}); failed != nil {
			t.Errorf("failed: %q", failed)
		}
		c, err := k.store.Read()
		if err != nil || len(c.Credentials) != 1 || len(c.Registrations) != 1 {
			t.Fatalf("%d credentials, %d registrations, %v", len(c.Credentials), len(c.Registrations), err)
		}
		if err := call(t.Context(), k, settings(as)); err != nil {
			t.Error(err)
		}
		outdate(t, as, k.opt.Path)
		if err := call(t.Context(), k, settings(as)); err != nil {
			t.Errorf("it cannot be refreshed: %v", err)
		}
	}
	if c := as.Counts(); c.Reuses != 0 {
		t.Errorf("%+v", c)
	}
}

// A process that dies in the middle of a refresh holds nobody up, and leaves the
// store as it was.
func TestKilled(t *testing.T) {
	for _, test := range []struct {
		name      string
		decided   bool // the server had rotated the token already
		grace     bool // and would do it again
		logsOut   bool
		refreshes int
	}{
		{"before the server decided", false, false, false, 1},
		{"after it, and it repeats its answer", true, true, false, 1},
		{"after it, and it takes that for theft", true, false, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			as := fakeauth.Start(t)
			k := open(t)
			s := settings(as)
			mustLogin(t, k, s)
			reached := make(chan struct{})
			hold := func(n int, _ http.ResponseWriter, r *http.Request) bool {
				if n != 2 {
					return false
				}
				close(reached)
				<-r.Context().Done() // its client is dead
				return true
			}
			as.Change(func() {
				as.Grace = test.grace
				if test.decided {
					as.After = hold
				} else {
					as.Fault = hold
				}
			})
			outdate(t, as, k.opt.Path)
			c := startChild(t, part{Path: k.opt.Path, Resource: as.Resource()})
			c.begin(t)
			<-reached
			if err := c.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			err := call(t.Context(), k, s)
			if (err != nil) != test.logsOut {
				t.Errorf("the next call: %v", err)
			}
			if counts := as.Counts(); counts.Refreshes != test.refreshes {
				t.Errorf("%+v", counts)
			}
			if test.logsOut {
				f := wantFailure(t, err, failure.AuthFailure)
				if !strings.HasSuffix(f.Message, "run: collet auth login docs") {
					t.Errorf("message %q", f.Message)
				}
				mustLogin(t, k, s)
				if err := call(t.Context(), k, s); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
