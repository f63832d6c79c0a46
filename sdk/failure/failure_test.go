package failure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

func full(c Class) *Failure {
	return &Failure{
		Class: c, Delivery: Answered, RetryAfter: 90 * time.Second, Message: "no", Origin: OriginUpstream,
		Target: "api.example.com:443", UpstreamCode: -32602, UpstreamData: []byte(`{"a":1.0}`),
		Problems:  []Problem{{Path: "/a~1b", Rule: "required", Message: "is missing"}},
		Challenge: `Bearer realm="x"`,
	}
}

func TestStatusRoundTrip(t *testing.T) {
	want := map[Class]codes.Code{
		Unknown: codes.Unknown, ConnectionRefused: codes.Unavailable, Timeout: codes.DeadlineExceeded,
		DNSFailure: codes.Unavailable, AuthFailure: codes.Unauthenticated, InvalidArguments: codes.InvalidArgument,
		ServerError: codes.Internal, NotFound: codes.NotFound, RateLimited: codes.ResourceExhausted,
		ConsentRequired: codes.FailedPrecondition, InvalidResult: codes.DataLoss,
	}
	for class, code := range want {
		f := full(class)
		err := ToStatus(fmt.Errorf("wrapped: %w", f))
		if status.Code(err) != code {
			t.Errorf("%v: code %v, want %v", class, status.Code(err), code)
		}
		if got := FromStatus(err); !reflect.DeepEqual(got, f) {
			t.Errorf("%v: got %+v, want %+v", class, got, f)
		}
	}
	for _, class := range []Class{OverBudget, Class(200)} {
		if got := FromStatus(ToStatus(full(class))); got == nil || got.Class != Unknown {
			t.Errorf("%v came out as %v, want unknown: only a host sets it", class, got)
		}
	}
}

func TestStatusOfOtherErrors(t *testing.T) {
	if ToStatus(nil) != nil || FromStatus(nil) != nil || ToProto(nil) != nil || FromProto(nil) != nil || Classify(nil) != nil {
		t.Error("nil is not nil")
	}
	if FromStatus(errors.New("x")) != nil || FromStatus(status.Error(codes.Unavailable, "EOF")) != nil {
		t.Error("a failure where none was sent")
	}
	err := ToStatus(fmt.Errorf("call: %w", context.Canceled))
	if status.Code(err) != codes.Canceled || FromStatus(err) != nil {
		t.Errorf("canceled: %v", err)
	}
	// What an adapter says explicitly wins over the cause it gives.
	err = ToStatus(New(Timeout, DeliveryUnknown, "no answer in 3s: %w", context.Canceled))
	if f := FromStatus(err); f == nil || f.Class != Timeout {
		t.Errorf("timeout caused by a cancel: %v", err)
	}
	if f := FromStatus(ToStatus(errors.New("odd"))); f == nil || f.Class != Unknown || f.Message != "odd" {
		t.Errorf("plain error: %v", f)
	}
}

func TestFromProtoWrongValues(t *testing.T) {
	f := FromProto(&adapterpb.Failure{
		Class: 99, Delivery: 99, Origin: -1, RetryAfter: &durationpb.Duration{Seconds: -5}, Message: "m",
	})
	if want := (&Failure{Message: "m"}); !reflect.DeepEqual(f, want) {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if f := FromProto(&adapterpb.Failure{Delivery: -1, RetryAfter: &durationpb.Duration{Nanos: -1, Seconds: 1}}); f.Delivery != DeliveryUnknown || f.RetryAfter != 0 {
		t.Errorf("got %+v", f)
	}
}

func TestFailureFitsTrailers(t *testing.T) {
	f := full(InvalidArguments)
	f.Message = strings.Repeat("日", 9999)
	f.Target, f.Challenge = strings.Repeat("t", 9999), strings.Repeat("\xff", 9999)
	f.UpstreamData = make([]byte, 9999)
	f.Problems = nil
	for range 99 {
		f.Problems = append(f.Problems, Problem{Path: strings.Repeat("/p", 500), Rule: "type", Message: strings.Repeat("é", 500)})
	}
	p := ToProto(f)
	if n := proto.Size(p); n > maxSize {
		t.Errorf("%d bytes, want at most %d", n, maxSize)
	}
	if len(p.Problems) == 0 || p.UpstreamData != nil {
		t.Errorf("%d problems, %d bytes of data; want some problems, and no piece of the data", len(p.Problems), len(p.UpstreamData))
	}
	if st := status.Convert(ToStatus(f)); len(st.Message()) > maxStatus || len(st.Details()) != 1 {
		t.Errorf("status of %d bytes with %d details", len(st.Message()), len(st.Details()))
	}
	if _, err := proto.Marshal(p); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for c := Unknown; c <= Canceled; c++ {
		if c.String() == "" || seen[c.String()] {
			t.Errorf("class %d is called %q", c, c)
		}
		seen[c.String()] = true
	}
	if got := fmt.Sprint(Class(77), Delivery(77), DeliveryUnknown, NotSent, Answered); got != "unknown unknown unknown not-sent answered" {
		t.Error(got)
	}
	if (&Failure{Class: DNSFailure}).Error() != "dns-failure" {
		t.Error("a failure without a message says nothing")
	}
}

// refusedAddress is a port of this machine on which nothing listens.
func refusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestClassifyRefused(t *testing.T) {
	addr := refusedAddress(t)
	_, err := http.Get("http://" + addr + "/mcp?token=s3cret")
	f := Classify(fmt.Errorf("list tools: %w", err))
	if f.Class != ConnectionRefused || f.Delivery != NotSent || f.Target != addr {
		t.Errorf("%+v, want connection-refused, not-sent, %s", f, addr)
	}
	if strings.Contains(f.Message, "s3cret") || !strings.Contains(f.Message, "list tools") || !strings.Contains(f.Message, addr+"/mcp") {
		t.Errorf("message %q", f.Message)
	}
}

func TestClassifyDNS(t *testing.T) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		server.Close() // a name server that hangs up
		return client, nil
	}}
	_, err := (&net.Dialer{Resolver: resolver}).DialContext(t.Context(), "tcp", "nothing.invalid:443")
	f := Classify(err)
	if f.Class != DNSFailure || f.Delivery != NotSent || f.Target != "nothing.invalid" {
		t.Errorf("%v: %+v, want dns-failure, not-sent", err, f)
	}
	f = Classify(&net.DNSError{Err: "no such host", Name: "a.invalid", IsNotFound: true})
	if f.Class != DNSFailure || f.Target != "a.invalid" {
		t.Errorf("%+v", f)
	}
}

func TestClassifyDeadlineAndCancel(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepts in the kernel and never answers
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	get := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = http.DefaultClient.Do(req)
		return err
	}
	if f := Classify(get(ctx)); f.Class != Timeout || f.Delivery != DeliveryUnknown {
		t.Errorf("deadline while waiting for the answer: %+v, want timeout, unknown", f)
	}
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = (&net.Dialer{}).DialContext(past, "tcp", l.Addr().String())
	if f := Classify(err); f.Class != Timeout || f.Delivery != NotSent {
		t.Errorf("deadline while dialling: %v: %+v, want timeout, not-sent", err, f)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if f := Classify(get(gone)); f.Class != Canceled {
		t.Errorf("canceled: %+v", f)
	}
	_, err = (&net.Dialer{Resolver: &net.Resolver{PreferGo: true}}).DialContext(gone, "tcp", "nothing.invalid:1")
	if f := Classify(err); f.Class != Canceled {
		t.Errorf("canceled while resolving: %v: %+v", err, f)
	}
}

func TestMessagesHideSecrets(t *testing.T) {
	inner := &url.Error{Op: "Get", URL: "https://user:pw@a.example/x?code=s3cret#s3cret", Err: errors.New("boom")}
	outer := &url.Error{Op: "Post", URL: "https://b.example/y?token=s3cret", Err: fmt.Errorf("redirect: %w", inner)}
	for _, f := range []*Failure{Classify(outer), New(AuthFailure, NotSent, "sign in: %w", outer)} {
		if strings.Contains(f.Message, "s3cret") || strings.Contains(f.Message, "pw") {
			t.Errorf("message %q", f.Message)
		}
		if !strings.Contains(f.Message, "https://a.example/x") || !strings.Contains(f.Message, "boom") {
			t.Errorf("message %q lost its point", f.Message)
		}
		if !errors.Is(f, outer) && f.Err != error(outer) {
			t.Errorf("%v lost its cause", f)
		}
	}
	bad := &url.Error{Op: "Get", URL: "https://a b/?token=s3cret\x00", Err: errors.New("boom")}
	if m := Classify(bad).Message; strings.Contains(m, "s3cret") {
		t.Errorf("message %q", m)
	}
}

func TestClassifyKeepsFailures(t *testing.T) {
	f := full(RateLimited)
	if got := Classify(fmt.Errorf("a: %w", fmt.Errorf("b: %w", f))); got != f {
		t.Errorf("got %+v", got)
	}
}

func TestProblemJSON(t *testing.T) {
	raw, err := json.Marshal(Problem{Path: "/a", Rule: "type", Message: "m"})
	if err != nil || string(raw) != `{"path":"/a","rule":"type","message":"m"}` {
		t.Errorf("%s, %v", raw, err)
	}
}
