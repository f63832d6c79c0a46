package failure

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

// A failure rides in gRPC trailers, which peers bound to a few KiB: a longer
// text would turn a clear failure into a broken stream.
const (
	maxMessage  = 2 << 10
	maxData     = 1 << 10
	maxProblems = 16
	// maxSize bounds the whole message. Base64 makes a third more of it, which with
	// the rest of the trailers stays below the 8 KiB that many HTTP/2 peers accept.
	maxSize   = 5 << 10
	maxStatus = 256
)

// ToProto returns f as the contract spells it, its texts cut to what fits into
// gRPC trailers. OverBudget and Canceled, which only a host sets, become
// unknown. ToProto of nil is nil.
func ToProto(f *Failure) *adapterpb.Failure {
	if f == nil {
		return nil
	}
	p := &adapterpb.Failure{
		Class:        classToProto[f.Class],
		Delivery:     adapterpb.Delivery(f.Delivery),
		Message:      excerpt.Of(f.Message, maxMessage),
		Origin:       adapterpb.Origin(f.Origin),
		Target:       excerpt.Of(f.Target, maxData),
		UpstreamCode: int32(f.UpstreamCode),
		Challenge:    excerpt.Of(f.Challenge, maxData),
	}
	// Half a JSON document helps nobody, so data that does not fit is left out.
	if len(f.UpstreamData) <= maxData {
		p.UpstreamData = f.UpstreamData
	}
	if f.RetryAfter > 0 {
		p.RetryAfter = durationpb.New(f.RetryAfter)
	}
	size := proto.Size(p)
	for _, q := range f.Problems[:min(len(f.Problems), maxProblems)] {
		problem := &adapterpb.FieldProblem{Path: excerpt.Of(q.Path, 256), Rule: excerpt.Of(q.Rule, 64), Message: excerpt.Of(q.Message, 256)}
		const header = 3 // tag and length
		if size += proto.Size(problem) + header; size > maxSize {
			break
		}
		p.Problems = append(p.Problems, problem)
	}
	return p
}

// FromProto reads what ToProto wrote. A class, delivery or origin this build
// does not know reads as the zero value. FromProto of nil is nil.
func FromProto(p *adapterpb.Failure) *Failure {
	if p == nil {
		return nil
	}
	f := &Failure{
		Class:        classFromProto[p.GetClass()],
		Message:      p.GetMessage(),
		Target:       p.GetTarget(),
		UpstreamCode: int(p.GetUpstreamCode()),
		UpstreamData: p.GetUpstreamData(),
		Challenge:    p.GetChallenge(),
	}
	if d := p.GetDelivery(); d >= 0 && d <= adapterpb.Delivery(Answered) {
		f.Delivery = Delivery(d)
	}
	if o := p.GetOrigin(); o >= 0 && o <= adapterpb.Origin(OriginHost) {
		f.Origin = Origin(o)
	}
	if r := p.GetRetryAfter(); r.IsValid() && r.AsDuration() > 0 {
		f.RetryAfter = r.AsDuration()
	}
	for _, q := range p.GetProblems() {
		f.Problems = append(f.Problems, Problem{Path: q.GetPath(), Rule: q.GetRule(), Message: q.GetMessage()})
	}
	return f
}

var classToProto = map[Class]adapterpb.FailureClass{
	Unknown:           adapterpb.FailureClass_FAILURE_CLASS_UNKNOWN,
	ConnectionRefused: adapterpb.FailureClass_FAILURE_CLASS_CONNECTION_REFUSED,
	Timeout:           adapterpb.FailureClass_FAILURE_CLASS_TIMEOUT,
	DNSFailure:        adapterpb.FailureClass_FAILURE_CLASS_DNS_FAILURE,
	AuthFailure:       adapterpb.FailureClass_FAILURE_CLASS_AUTH_FAILURE,
	InvalidArguments:  adapterpb.FailureClass_FAILURE_CLASS_INVALID_ARGUMENTS,
	ServerError:       adapterpb.FailureClass_FAILURE_CLASS_SERVER_ERROR,
	NotFound:          adapterpb.FailureClass_FAILURE_CLASS_NOT_FOUND,
	RateLimited:       adapterpb.FailureClass_FAILURE_CLASS_RATE_LIMITED,
	ConsentRequired:   adapterpb.FailureClass_FAILURE_CLASS_CONSENT_REQUIRED,
	InvalidResult:     adapterpb.FailureClass_FAILURE_CLASS_INVALID_RESULT,
}

var classFromProto = func() map[adapterpb.FailureClass]Class {
	m := make(map[adapterpb.FailureClass]Class, len(classToProto))
	for c, p := range classToProto {
		m[p] = c
	}
	return m
}()
