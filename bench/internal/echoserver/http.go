package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
)

// serveHTTP answers each POST with the JSON that serve would write as a line. It
// lives until it is killed.
func serveHTTP(address string, out io.Writer) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/mcp\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(post))
}

func post(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		rw.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	var req request
	if err != nil || json.Unmarshal(body, &req) != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	if req.ID == nil {
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	w := bufio.NewWriterSize(rw, 64<<10)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, req.ID)
	answer(w, &req)
	w.WriteString("}")
	_ = w.Flush() // whoever asked may have left
}
