package schema

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// engine is one compiled copy of a schema. Its meter, which the library gives no
// way to hand through a validation, serves one validation at a time.
type engine struct {
	compiled *jsonschema.Schema
	meter    *meter
}

// engines are the copies of one schema. There is one to begin with; a validation
// that finds all of them at work for longer than it takes to compile one more has
// another made, up to one for each processor.
type engines struct {
	document any // what is compiled; never changed
	root     string
	cost     time.Duration // of compiling it
	idle     chan *engine
	permits  chan struct{} // one for each copy that may still be made
}

func startEngines(document any) (*engines, error) {
	start := time.Now()
	first, err := newEngine(document)
	if err != nil {
		return nil, err
	}
	most := runtime.GOMAXPROCS(0)
	es := &engines{document: document, cost: time.Since(start), idle: make(chan *engine, most), permits: make(chan struct{}, most)}
	es.root, _, _ = strings.Cut(first.compiled.Location, "#")
	es.idle <- first
	for range most - 1 {
		es.permits <- struct{}{}
	}
	return es, nil
}

// run validates one value within a time.
func (es *engines) run(value any, limit time.Duration) error {
	e, err := es.take()
	if err != nil {
		return err
	}
	defer func() { es.idle <- e }()
	return e.run(value, limit)
}

// take returns an engine of which the caller is the only user. It waits for others
// at most, each of which has a time limit of its own.
func (es *engines) take() (*engine, error) {
	select {
	case e := <-es.idle:
		return e, nil
	default:
	}
	patience := time.NewTimer(es.cost)
	defer patience.Stop()
	select {
	case e := <-es.idle:
		return e, nil
	case <-patience.C:
	}
	select {
	case e := <-es.idle:
		return e, nil
	case <-es.permits:
		return newEngine(es.document)
	}
}

// newEngine compiles a document that inspect has prepared.
func newEngine(document any) (e *engine, err error) {
	// The library trusts that a document which fits its metaschema has the types it
	// asserts. Should that ever be wrong, one tool is unchecked, not the host down.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema cannot be compiled: %v", r)
		}
	}()
	normal, err := encode(document)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be compiled: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(uri string) (io.ReadCloser, error) { return nil, outwardError(uri) }
	for format := range jsonschema.Formats {
		c.Formats[format] = func(any) bool { return true }
	}
	e = &engine{meter: &meter{}}
	c.RegisterExtension("meter", nil, e.meter)
	if err := c.AddResource(baseURI, bytes.NewReader(normal)); err != nil {
		return nil, fmt.Errorf("the schema cannot be compiled: %w", err)
	}
	if e.compiled, err = c.Compile(baseURI); err != nil {
		return nil, compileReason(err)
	}
	return e, nil
}

func (e *engine) run(value any, limit time.Duration) (err error) {
	e.meter.start(limit)
	defer func() {
		if r := recover(); r != nil {
			if r == errOvertime {
				err = errOvertime
				return
			}
			err = fmt.Errorf("checking failed: %v", r)
		}
	}()
	return e.compiled.Validate(value)
}
