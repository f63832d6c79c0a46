package mcp

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
)

func TestWireFailure(t *testing.T) {
	l := &httpLink{}
	l.url.Store(&url.URL{Scheme: "https", Host: "h:1", Path: "/a", RawQuery: "key=SECRET"})
	op := func(name string, err error) error { return &net.OpError{Op: name, Net: "tcp", Err: err} }
	for _, test := range []struct {
		err      error
		class    failure.Class
		delivery failure.Delivery
		says     string
	}{
		{op("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), failure.ConnectionRefused, failure.NotSent, "connect to https://h:1/a: dial"},
		{op("write", os.NewSyscallError("write", syscall.EPIPE)), failure.ConnectionRefused, failure.NotSent, "https://h:1/a broke while"},
		{fmt.Errorf("x: %w", op("readfrom", op("write", os.NewSyscallError("write", syscall.ECONNRESET)))), failure.ConnectionRefused, failure.NotSent, "https://h:1/a broke while"},
		{op("write", os.ErrDeadlineExceeded), failure.Timeout, failure.DeliveryUnknown, "broke"},
		{op("read", os.NewSyscallError("read", syscall.ECONNRESET)), failure.ConnectionRefused, failure.DeliveryUnknown, "broke"},
		{errors.New("something"), failure.ConnectionRefused, failure.DeliveryUnknown, "something"},
	} {
		f := l.wireFailure(test.err, failure.DeliveryUnknown)
		if f.Class != test.class || f.Delivery != test.delivery || !strings.Contains(f.Message, test.says) || strings.Contains(f.Message, "SECRET") {
			t.Errorf("%v: %s, %s, %q", test.err, f.Class, f.Delivery, f.Message)
		}
	}
}
