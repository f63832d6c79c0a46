package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	s, err := configure(os.Args[1:])
	if err != nil {
		fatal(err.Error())
	}
	s.log("start", "")
	if s.faults["ignoreterm"] {
		terms := make(chan os.Signal, 1)
		signal.Notify(terms, syscall.SIGTERM)
		go func() {
			for range terms {
				s.log("term", "")
			}
		}()
	}
	for _, f := range starts {
		if s.faults[f.name] {
			f.do(s)
		}
	}
	if s.http != "" {
		l, err := net.Listen("tcp", s.http)
		if err != nil {
			fatal(err.Error())
		}
		w := newWeb(s)
		l, err = w.secure(l)
		if err != nil {
			fatal(err.Error())
		}
		fmt.Println(w.url)
		fatal(w.serve(l).Error())
	}
	s.serve(os.Stdin)
	s.log("eof", "")
	if s.faults["eofignore"] || s.faults["ignoreterm"] {
		forever()
	}
}

// configure reads the command line.
func configure(args []string) (*server, error) {
	s := &server{faults: map[string]bool{}, asked: map[string]chan []byte{}, listeners: map[*listener]bool{}}
	flags := flag.NewFlagSet("faultserver", flag.ContinueOnError)
	faults := flags.String("fault", "", "comma-separated `names` of faults")
	flags.DurationVar(&s.delay, "delay", time.Second, "the time slow faults take")
	flags.IntVar(&s.size, "size", 1<<20, "the `bytes` large things have")
	flags.IntVar(&s.n, "n", 3, "the `count` of counted things")
	flags.StringVar(&s.state, "state", "", "`file` in which things are counted across runs")
	flags.StringVar(&s.http, "http", "", "`address` to serve HTTP on, instead of stdio")
	flags.StringVar(&s.certout, "certout", "", "`file` for the certificate of the tls faults")
	flags.StringVar(&s.sibling, "sibling", "", "`URL` that redirect-cross names")
	logFile := flags.String("log", "", "`file` for what the host sent")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(*faults, ",") {
		if name == "" {
			continue
		}
		if schema, ok := strings.CutPrefix(name, "schema:"); ok {
			if err := s.addSchema(schema); err != nil {
				return nil, err
			}
		} else if err := check(name, s.http != ""); err != nil {
			return nil, err
		}
		s.faults[name] = true
	}
	s.rugged.Store(s.faults["rugged"])
	return s, s.openLog(*logFile)
}

func fatal(message string) {
	fmt.Fprintln(os.Stderr, "faultserver:", message)
	os.Exit(64)
}

// forever blocks; a plain select would be a deadlock to the runtime.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
