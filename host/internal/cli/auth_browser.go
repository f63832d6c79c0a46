package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// callbackTimeout bounds what a browser may take for its one request, and the end of
// the listener.
const callbackTimeout = 5 * time.Second

// browser is the person at the terminal, and the browser in front of them.
type browser struct {
	streams *terminal.Streams
	open    func(url string) error // nil opens nothing
	paste   bool                   // stdin may have the answer
	used    bool                   // a person was needed

	mu       sync.Mutex
	state    string // of the login under way: what comes with another one is not for us
	server   *http.Server
	serving  sync.WaitGroup
	answered chan string
}

// Listen binds the port that the browser comes back to, on this machine only.
func (b *browser) Listen(ctx context.Context, want host.Redirect) (string, error) {
	b.used = true
	listen := func(port int) (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	l, err := listen(want.Port)
	if err != nil && !want.Fixed && want.Port != 0 {
		l, err = listen(0)
	}
	if err != nil {
		return "", fmt.Errorf("listen on port %d for the browser (redirect_port of the oauth table): %w", want.Port, err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	at := net.JoinHostPort(want.Host, strconv.Itoa(port))
	b.answered = make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+want.Path, func(w http.ResponseWriter, r *http.Request) { b.callback(w, r, at) })
	b.server = &http.Server{Handler: mux, ReadTimeout: callbackTimeout, WriteTimeout: callbackTimeout, MaxHeaderBytes: 32 << 10}
	b.serving.Go(func() { _ = b.server.Serve(l) })
	if want.Host == "localhost" { // which may be ::1 to the browser; without IPv6 it is not
		if six, err := (&net.ListenConfig{}).Listen(ctx, "tcp6", net.JoinHostPort("::1", strconv.Itoa(port))); err == nil {
			b.serving.Go(func() { _ = b.server.Serve(six) })
		}
	}
	return "http://" + at + want.Path, nil
}

// callback takes the request that a login ends with, and no other: any page and any
// program on this machine may send one.
func (b *browser) callback(w http.ResponseWriter, r *http.Request, at string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer")
	if r.Host != at || !b.ours(r.URL.RawQuery) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "This is not the login that collet waits for.\n")
		return
	}
	select {
	case b.answered <- r.URL.RawQuery:
	default: // it has one already
	}
	_, _ = io.WriteString(w, "collet has your answer. You can close this window, and go back to the terminal.\n")
}

// ours reports whether a query belongs to the login under way.
func (b *browser) ours(query string) bool {
	q, err := url.ParseQuery(query)
	b.mu.Lock()
	defer b.mu.Unlock()
	return err == nil && b.state != "" && q.Get("state") == b.state && (q.Has("code") || q.Has("error"))
}

// Authorize sends the person to an address, and waits for the browser to come back or
// for its address to be pasted.
func (b *browser) Authorize(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || !mayOpen(u) {
		return "", errors.New("the address to log in at is neither https nor of this machine")
	}
	b.mu.Lock()
	b.state = u.Query().Get("state")
	b.mu.Unlock()
	opened := false
	if b.open != nil {
		err := b.open(u.String())
		if opened = err == nil; !opened {
			b.streams.Note("collet: no browser can be opened: %v", err)
		}
	}
	if opened {
		b.streams.Note("collet: the login page should now be open in your browser. If it is not, open this address in any browser:\n\n  %s\n", u)
	} else {
		b.streams.Note("collet: open this address in a browser to log in:\n\n  %s\n", u)
	}
	var pasted <-chan pasting
	if b.paste {
		b.streams.Note("collet: if the browser runs on another machine, the login ends at an address that it cannot show. Paste that address here, and press Enter.")
		pasted = b.read(ctx)
	}
	select {
	case query := <-b.answered:
		return query, nil
	case p := <-pasted:
		if p.err != nil {
			select { // both may be ready
			case query := <-b.answered:
				return query, nil
			default:
			}
		}
		return p.query, p.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// pasting is what came of waiting for an address to be pasted.
type pasting struct {
	query string
	err   error
}

// errNothingPasted is that stdin ended without the address.
var errNothingPasted = errors.New("stdin ended before the address at which the login ends was read: run the command in a terminal and paste the address, keep stdin open until you have written it there, or use --no-browser, which waits for a browser on this machine")

// read reads lines until one is the end of the login, or there are no more. Nothing
// interrupts a read from a terminal: it ends with the process.
func (b *browser) read(ctx context.Context) <-chan pasting {
	found := make(chan pasting, 1)
	go func() {
		for ctx.Err() == nil {
			line, err := readPasted(b.streams.In)
			query := line
			if _, after, ok := strings.Cut(line, "?"); ok {
				query, _, _ = strings.Cut(after, "#")
			}
			switch {
			case b.ours(query):
				found <- pasting{query: query}
				return
			case line != "" && ctx.Err() == nil:
				b.streams.Note("collet: that is not the address at which this login ended: it begins with http://127.0.0.1 or http://localhost, and has state= in it")
			}
			if err != nil {
				found <- pasting{err: errNothingPasted}
				return
			}
		}
	}()
	return found
}

// maxPasted bounds a pasted address, in bytes.
const maxPasted = 16 << 10

// readPasted reads a line, or as much of it as an address can have. The error is the
// end of in, after line.
func readPasted(in io.Reader) (line string, err error) {
	var text []byte
	var c [1]byte
	for len(text) < maxPasted && err == nil {
		var n int
		n, err = in.Read(c[:])
		if n > 0 && c[0] == '\n' {
			break
		}
		text = append(text, c[:n]...)
	}
	return strings.TrimSpace(string(text)), err
}

// ShowCode shows what a person enters on another device.
func (b *browser) ShowCode(_ context.Context, code host.DeviceCode) error {
	b.used = true
	b.streams.Note("collet: on any device, open\n\n  %s\n\nand enter the code\n\n  %s\n", visible(code.URL), visible(code.UserCode))
	if u, err := url.Parse(code.URLComplete); err == nil && code.URLComplete != "" && mayOpen(u) && b.open != nil {
		if err := b.open(u.String()); err != nil {
			b.streams.Note("collet: no browser can be opened here: %v", err)
		}
	}
	return nil
}

// close ends the listener, after the page that it may be showing.
func (b *browser) close() {
	if b.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callbackTimeout)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close()
	}
	b.serving.Wait()
}

// mayOpen reports whether a browser may be sent to an address: it is on the web over
// TLS, or on this machine.
func mayOpen(u *url.URL) bool {
	if u.Host == "" || strings.ContainsFunc(u.String(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
