package child

import (
	"fmt"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// maxRejections are remembered; a script that has more has its first one told.
const maxRejections = 64

// handle is the engine below package quickjs, for what that does not offer. It keeps
// the two handles to itself, hence the reflection: it reads two fields of the pinned
// version, and fails when they have changed.
type handle struct {
	tls     *libc.TLS
	runtime uintptr
	context uintptr
	// open are the promises that were rejected and that nothing waits for, so that an
	// error in what was not awaited is told and not lost.
	open []rejection
}

type rejection struct{ promise, reason lib.TJSValue }

// below is what the engine's callback reaches; a process has one engine.
var below *handle

func reachBelow(vm *quickjs.VM) error {
	field := reflect.ValueOf(vm).Elem().FieldByName("runtime")
	if !field.IsValid() || field.Kind() != reflect.Pointer {
		return fmt.Errorf("quickjs.VM has no runtime any more")
	}
	runtime, tls := field.Elem().FieldByName("cRuntime"), field.Elem().FieldByName("tls")
	if !runtime.IsValid() || runtime.Kind() != reflect.Uintptr || !tls.IsValid() || tls.Kind() != reflect.Pointer {
		return fmt.Errorf("the runtime of quickjs has changed")
	}
	below = &handle{tls: (*libc.TLS)(tls.UnsafePointer()), runtime: uintptr(runtime.Uint())}
	callback := onRejection
	lib.XJS_SetHostPromiseRejectionTracker(below.tls, below.runtime, *(*uintptr)(unsafe.Pointer(&callback)), 0)
	return nil
}

// onRejection is the engine's HostPromiseRejectionTracker (ECMA-262 27.2.1.9).
func onRejection(tls *libc.TLS, ctx uintptr, promise, reason lib.TJSValue, handled int32, _ uintptr) {
	r := below
	r.context = ctx
	if handled == 0 {
		if len(r.open) < maxRejections {
			r.open = append(r.open, rejection{lib.XDupValue(tls, ctx, promise), lib.XDupValue(tls, ctx, reason)})
		}
		return
	}
	for i, o := range r.open {
		if o.promise == promise {
			lib.XFreeValue(tls, ctx, o.promise)
			lib.XFreeValue(tls, ctx, o.reason)
			r.open = append(r.open[:i], r.open[i+1:]...)
			return
		}
	}
}

// first leaves the reason of the first rejection that nothing waits for in a global
// property, and reports whether there is one.
func (r *handle) first(property string) bool {
	if len(r.open) == 0 {
		return false
	}
	name, err := libc.CString(property)
	if err != nil {
		return false
	}
	defer libc.Xfree(r.tls, name)
	global := lib.XJS_GetGlobalObject(r.tls, r.context)
	defer lib.XFreeValue(r.tls, r.context, global)
	return lib.XJS_SetPropertyStr(r.tls, r.context, global, name, lib.XDupValue(r.tls, r.context, r.open[0].reason)) > 0
}

// exhausted reports whether all memory was used once: the engine collects garbage
// when it has half as much again as after the last time, and that is where it can
// have no more. What it had to do for a promise then may be lost without a trace.
func (r *handle) exhausted(limit int64) bool {
	runtime := *(**lib.TJSRuntime)(unsafe.Pointer(&r.runtime)) // no memory of Go's
	return uint64(runtime.Fmalloc_gc_threshold) >= uint64(limit)
}
