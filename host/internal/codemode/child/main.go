package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

// heapBeforeStart limits the engine until a program says how much it may have.
const heapBeforeStart = 32 << 20

// interruptEvery is how often a script that has to stop is interrupted: a request
// is forgotten when a call into the engine returns.
const interruptEvery = 5 * time.Millisecond

// patience is how long the process waits for its script before it gives memory back:
// one that was started for a script gets it at once.
const patience = 250 * time.Millisecond

// Main serves one script over the process's standard streams and returns the exit
// code. When its standard input ends the host is gone, and so is the process, at once.
func Main() int {
	c := &child{out: os.Stdout, events: make(chan wire.Frame, 16)}
	if err := c.main(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "script process:", err)
		return 1
	}
	return 0
}

// child is the state of the process. Its engine belongs to the goroutine of main.
type child struct {
	outMu  sync.Mutex
	out    io.Writer
	engine *engine
	events chan wire.Frame // Start, then Answer and Refuse

	mu      sync.Mutex
	stopped *wire.Reason // why the script ends now, once it does

	// Of the goroutine of main.
	settled *settlement // what became of the script's function
	asked   int         // calls and questions sent
	notices []string
	script  *script // once it is compiled
	heap    int64   // bytes that the engine may have
}

func (c *child) main(in io.Reader) error {
	var err error
	if c.engine, err = newEngine(c); err != nil {
		return err
	}
	go c.read(in)
	if err := c.send(wire.Ready, 0, nil); err != nil {
		return err
	}
	f := c.start()
	if f.Kind != wire.Start {
		return fmt.Errorf("the host began with a frame of kind %d", f.Kind)
	}
	var p wire.Program
	if err := json.Unmarshal(f.Body, &p); err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // the value is handed on as it is here
	if err := e.Encode(c.run(&p)); err != nil {
		return err
	}
	return c.send(wire.Done, 0, body.Bytes())
}

// start waits for the program. Who waits long gives memory back first.
func (c *child) start() wire.Frame {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case f := <-c.events:
		return f
	case <-timer.C:
		release()
		return <-c.events
	}
}

// read hands on what the host says until it is gone.
func (c *child) read(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		f, err := wire.Read(r, wire.MaxFrame)
		if err != nil {
			os.Exit(0)
		}
		if f.Kind != wire.Stop {
			c.events <- f
			continue
		}
		var reason wire.Reason
		if err := json.Unmarshal(f.Body, &reason); err != nil {
			reason = wire.Reason{Kind: "aborted", Message: "the host stopped the script"}
		}
		c.stop(reason)
		go func() {
			for {
				c.engine.vm.Interrupt()
				time.Sleep(interruptEvery)
			}
		}()
		select {
		case c.events <- f: // where it waits for an answer
		default:
		}
	}
}

// stop has the script end with this reason, unless it has one already.
func (c *child) stop(r wire.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		c.stopped = &r
	}
}

func (c *child) stopReason() *wire.Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

func (c *child) send(k wire.Kind, id uint32, body []byte) error {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	return wire.Write(c.out, wire.Frame{Kind: k, ID: id, Body: body})
}
