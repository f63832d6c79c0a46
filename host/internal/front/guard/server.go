package guard

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// maxHeaders bounds a request's headers, in bytes: a token, and the arguments that
// travel in Mcp-Param-* headers. In the process they are up to three times that, of
// strangers too; and proxies that clients go through allow for no more.
const maxHeaders = 32 << 10

// Server is an http.Server for a handler behind a Guard. A connection that does not
// send its headers, or nothing at all, ends; bodies and answers have the guard's
// deadlines, since the server's own would end streams. A handler that panics is an
// error in the log; what else net/http has to say is there for debugging, because
// strangers can make it say much.
func Server(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           tellPanics(h, log),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		// net/http answers "OPTIONS *" by itself otherwise, without Host and Origin.
		DisableGeneralOptionsHandler: true,
	}
}

func tellPanics(h http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v != http.ErrAbortHandler {
				log.ErrorContext(r.Context(), "http handler panicked", "path", excerpt(r.URL.Path),
					"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			}
			panic(http.ErrAbortHandler) // ends the connection without another word
		}()
		h.ServeHTTP(w, r)
	})
}
