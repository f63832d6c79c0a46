package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wire says for each fault of HTTP what is seen on the wire.
var wire = map[string]func(*testing.T, *fixture){
	"sess404": func(t *testing.T, f *fixture) {
		for range 3 { // -n 2
			f.initialize()
			f.wantEcho()
			f.do("POST", `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`).want(t, 200, inJSON, `"tools"`)
			f.wantEcho()
			f.call("echo", "{}").want(t, 404, inJSON, "Session not found")
			f.do("POST", `{"jsonrpc":"2.0","id":8,"method":"ping"}`).want(t, 404, inJSON, "Session not found")
		}
	},
	"sess404-always": func(t *testing.T, f *fixture) {
		for range 2 {
			f.initialize()
			f.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`).want(t, 202, "", "")
			f.call("echo", "{}").want(t, 404, inJSON, "Session not found")
		}
	},
	"nosession": func(t *testing.T, f *fixture) {
		f.initialize()
		if f.session != "" {
			t.Errorf("session %q", f.session)
		}
		f.wantEcho()
		f.do("DELETE", "").want(t, 405, "", "")
	},
	"get405":      getAnswers(405, "", ""),
	"get404":      getAnswers(404, "text/plain", "not found"),
	"get400":      getAnswers(400, "text/plain", "POST only"),
	"get401":      getAnswers(401, "text/plain", "who"),
	"get200json":  getAnswers(200, inJSON, "ok"),
	"get-close":   getAnswers(200, inStream, ""),
	"get-silent":  hangs("GET"),
	"delete405":   func(t *testing.T, f *fixture) { f.initialize(); f.do("DELETE", "").want(t, 405, "", "") },
	"delete-hang": hangs("DELETE"),

	"note-204":      noted(204, "", ""),
	"note-200empty": noted(200, inJSON, ""),
	"note-200null":  noted(200, inJSON, "null"),
	"note-200obj":   noted(200, inJSON, "{}"),
	"note-202text":  noted(202, "text/plain", "Accepted"),

	"redirect307": redirects(307, path+"/"),
	"redirect308": redirects(308, path+"/"),
	"redirect301": redirects(301, path+"/"),
	"redirect302": redirects(302, path+"/"),
	"redirect-loop": func(t *testing.T, f *fixture) {
		f.url += "/"
		redirects(307, path+"/")(t, f)
	},
	"redirect-cross": redirects(307, "http://127.0.0.1:1/other"),
	"redirect-meta":  redirects(307, "http://169.254.7.7/latest/meta-data/"),
	"redirect-file":  redirects(307, "file:///etc/hostname"),

	"429": busyFirst(429, "1"),
	"503": busyFirst(503, "1"),
	"429-date": func(t *testing.T, f *fixture) {
		f.initialize()
		for range 2 {
			r := f.call("echo", "{}")
			at, err := http.ParseTime(r.Header.Get("Retry-After"))
			if ahead := time.Until(at); r.StatusCode != 429 || err != nil || ahead <= 0 || ahead > 2*time.Second {
				t.Errorf("%s, %v ahead, %v", r.Status, ahead, err)
			}
		}
		f.wantEcho()
	},
	"429-long":  busyAlways("3600"),
	"429-plain": busyAlways(""),

	"500-after": func(t *testing.T, f *fixture) {
		f.initialize()
		f.call("s_count", "{}").want(t, 500, plainOne, "something broke")
		wantCount(t, f)
	},
	"rst": func(t *testing.T, f *fixture) {
		f.initialize()
		if _, err := f.client.Do(f.request("POST", callBody("s_count", "{}"))); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the call ended with %v", err)
		}
		wantCount(t, f)
	},
	"rst-each": func(t *testing.T, f *fixture) {
		f.initialize()
		for i := range 6 { // -n is 2
			_, err := f.client.Do(f.request("POST", callBody("echo", "{}")))
			if reset := i%2 == 1; reset != errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("call %d ended with %v", i, err)
			}
		}
	},
	"hangup": func(t *testing.T, f *fixture) {
		f.initialize()
		r := f.call("s_count", "{}")
		if !errors.Is(r.err, io.ErrUnexpectedEOF) || len(r.body) != lengthOf(r)/2 {
			t.Errorf("%s of %d, %v", r.body, lengthOf(r), r.err)
		}
		wantCount(t, f)
	},
	"call-202":   called(202, "", ""),
	"call-html":  called(200, "text/html", "Sign in"),
	"call-empty": called(200, inJSON, ""),
	"call-400":   called(400, inJSON, `"id":null`),
	"call-403":   called(403, "text/html", "Sign in"),
	"gzip": func(t *testing.T, f *fixture) {
		f.session = f.do("POST", hello).Header.Get(sessionHeader)
		for _, tool := range []string{"echo", "t_progress"} {
			r := f.call(tool, `{"text":"hi","ms":1,"step":1}`)
			z, err := gzip.NewReader(strings.NewReader(r.body))
			if err != nil || r.Header.Get("Content-Encoding") != "gzip" {
				t.Fatalf("%v, %v", r.Header, err)
			}
			if b, err := io.ReadAll(z); err != nil || !strings.Contains(string(b), `"id":7,"result"`) {
				t.Errorf("%s, %v", b, err)
			}
		}
	},
	"slow-body": func(t *testing.T, f *fixture) {
		f.initialize()
		began := time.Now()
		r := f.open("POST", callBody("echo", `{"text":"hi"}`))
		defer r.Body.Close()
		first := make([]byte, 10)
		if _, err := io.ReadFull(r.Body, first); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(r.Body)
		if whole := string(first) + string(rest); err != nil || !strings.Contains(whole, `"text":"hi"`) || time.Since(began) < 100*time.Millisecond {
			t.Errorf("%s after %v, %v", whole, time.Since(began), err)
		}
	},

	"sse": func(t *testing.T, f *fixture) {
		f.session = f.do("POST", hello).Header.Get(sessionHeader)
		f.call("echo", `{"text":"hi"}`).want(t, 200, inStream, event(echoed))
	},
	"json": func(t *testing.T, f *fixture) {
		f.initialize()
		f.call("t_progress", `{"ms":2,"step":1}`).want(t, 200, inJSON, `"done"`)
	},
	"sse-multidata": events(1, "event: message\ndata: {\ndata:   \"jsonrpc\": \"2.0\",\n", "\ndata: }\n\n"),
	"sse-crlf":      events(1, "event: message\r\ndata: "+echoed+"\r\n\r\n", ""),
	"sse-cr":        events(1, "event: message\rdata: "+echoed+"\r\r", ""),
	"sse-noevent":   events(1, "data: "+echoed+"\n\n", ""),
	"sse-nospace":   events(1, "event:message\ndata:"+echoed+"\n\n", ""),
	"sse-comment":   events(1, ": before\n:\n\nevent: message\n: within\ndata: "+echoed, "\n\n: after\n\n"),
	"sse-bom":       events(1, "\ufeff"+event(echoed), ""),
	"sse-priming":   events(1, "id: prime-1\nretry: 500\ndata:\n\n"+event(echoed), ""),
	"sse-unknown":   events(2, "event: nasty\n", "foo: bar\nbare\nid\ndata: "+echoed+"\n\n"),
	"sse-noend":     events(1, "event: message\ndata: "+echoed+"\n", ""),
	"sse-split": func(t *testing.T, f *fixture) {
		events(1, "event: message\r\ndata: "+echoed+"\r\n\r\n", "")(t, f)
		var cuts []string
		syntaxes["sse-split"](sent{text: `{"a":"é"}`}, func(b string) { cuts = append(cuts, b) })
		if want := []string{"event: message\r", "\ndata: {\"a\":\"\xc3", "\xa9\"}\r", "\n\r", "\n"}; !slices.Equal(cuts, want) {
			t.Errorf("writes %q, want %q", cuts, want)
		}
	},
	"sse-stall": func(t *testing.T, f *fixture) {
		f.initialize()
		f.do("POST", `{"jsonrpc":"2.0","id":8,"method":"ping"}`).want(t, 200, inJSON, `"result":{}`)
		wantSilence(t, f)
	},
	"sse-trickle": func(t *testing.T, f *fixture) {
		f.initialize()
		r := f.open("POST", callBody("echo", "{}"))
		defer r.Body.Close()
		b := bufio.NewReader(r.Body)
		for range 2 {
			for _, want := range []string{": keepalive\n", "\n"} {
				if l, err := b.ReadString('\n'); err != nil || l != want {
					t.Errorf("%q, %v", l, err)
				}
			}
		}
	},
	"sse-keepopen": func(t *testing.T, f *fixture) {
		f.initialize()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := f.client.Do(f.request("POST", callBody("echo", `{"text":"hi"}`), "X", "1").WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b := make([]byte, len(event(echoed)))
		if _, err := io.ReadFull(r.Body, b); err != nil || string(b) != event(echoed) {
			t.Fatalf("%q, %v", b, err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := r.Body.Read(b)
			ended <- err
		}()
		select {
		case err := <-ended:
			t.Errorf("the stream ended: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("after closing it: %v", err)
		}
	},

	"tls":         trusted(func(err error) bool { return err == nil }),
	"tls-expired": trusted(func(err error) bool { return invalid(err, x509.Expired) }),
	"tls-name":    trusted(func(err error) bool { var e x509.HostnameError; return errors.As(err, &e) }),
}

const echoed = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hi"}]}}`

func TestHTTPFaults(t *testing.T) {
	for _, name := range httpFaults() {
		if wire[name] == nil {
			t.Errorf("nothing shows what %s does", name)
		}
	}
	for name, show := range wire {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := start(t, name, "-n", "2", "-delay", "100ms", "-sibling", "http://127.0.0.1:1/other",
				"-state", filepath.Join(dir, "state"), "-certout", filepath.Join(dir, "cert.pem"))
			f.log = filepath.Join(dir, "cert.pem") // where the TLS faults look
			show(t, f)
		})
	}
}

func getAnswers(status int, kind, body string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		f.initialize()
		f.do("GET", "").want(t, status, kind, body)
		f.wantEcho()
	}
}

// hangs: no answer to that method, and the others work.
func hangs(method string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		f.initialize()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := f.client.Do(f.request(method, "").WithContext(ctx)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("answered: %v", err)
		}
		f.wantEcho()
	}
}

func noted(status int, kind, body string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		f.initialize()
		f.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`).want(t, status, kind, body)
		f.wantEcho()
	}
}

func redirects(status int, to string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		for _, method := range []string{"POST", "GET"} {
			r := f.do(method, hello)
			if r.StatusCode != status || r.Header.Get("Location") != to {
				t.Errorf("%s: %s to %q, want %d to %q", method, r.Status, r.Header.Get("Location"), status, to)
			}
		}
		if to == path+"/" && !strings.HasSuffix(f.url, "/") {
			f.url += "/"
			f.initialize()
			f.wantEcho()
		}
	}
}

func busyFirst(status int, after string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		f.initialize()
		for range 2 {
			if r := f.call("echo", "{}"); r.StatusCode != status || r.Header.Get("Retry-After") != after {
				t.Errorf("%s, Retry-After %q", r.Status, r.Header.Get("Retry-After"))
			}
		}
		f.wantEcho()
	}
}

func busyAlways(after string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		f.initialize()
		for range 4 {
			if r := f.call("echo", "{}"); r.StatusCode != 429 || r.Header.Get("Retry-After") != after {
				t.Errorf("%s, Retry-After %q", r.Status, r.Header.Get("Retry-After"))
			}
		}
	}
}

func called(status int, kind, body string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		f.initialize()
		f.call("echo", "{}").want(t, status, kind, body)
		f.do("POST", `{"jsonrpc":"2.0","id":8,"method":"ping"}`).want(t, 200, inJSON, `"result":{}`)
	}
}

// events: the stream of a call is count times an event, starting and ending so.
func events(count int, start, end string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		f.session = f.do("POST", hello).Header.Get(sessionHeader)
		r := f.call("echo", `{"text":"hi"}`)
		if !strings.HasPrefix(r.body, start) || !strings.HasSuffix(r.body, end) || strings.Count(r.body, "event:") > count {
			t.Errorf("stream %q, want %q to %q", r.body, start, end)
		}
		if end == "" && r.body != start {
			t.Errorf("stream %q, want %q", r.body, start)
		}
	}
}

func wantSilence(t *testing.T, f *fixture) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := f.client.Do(f.request("POST", callBody("echo", "{}")).WithContext(ctx))
	if err != nil {
		t.Fatalf("no headers: %v", err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); len(b) != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%q, %v", b, err)
	}
}

// wantCount: the call before was run.
func wantCount(t *testing.T, f *fixture) {
	t.Helper()
	state := filepath.Join(filepath.Dir(f.log), "state")
	b, err := os.ReadFile(state)
	if err != nil || len(b) != 1 {
		t.Errorf("the tool ran %s times, %v", strconv.Itoa(len(b)), err)
	}
}

// trusted: with the certificate as its authority, the server is as ok says, and
// without it it is never.
func trusted(ok func(error) bool) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		if !strings.HasPrefix(f.url, "https://") {
			t.Fatalf("URL is %s", f.url)
		}
		unknown := &http.Transport{}
		defer unknown.CloseIdleConnections()
		if _, err := unknown.RoundTrip(f.request("POST", hello)); err == nil {
			t.Error("trusted without its certificate")
		}
		pem, err := os.ReadFile(f.log)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			t.Fatalf("no certificate in %q", pem)
		}
		known := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
		defer known.CloseIdleConnections()
		r, err := known.RoundTrip(f.request("POST", hello))
		if !ok(err) {
			t.Errorf("with its certificate: %v", err)
		}
		if err == nil {
			r.Body.Close()
		}
	}
}

func invalid(err error, reason x509.InvalidReason) bool {
	var e x509.CertificateInvalidError
	return errors.As(err, &e) && e.Reason == reason
}
