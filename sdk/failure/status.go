package failure

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

var codeOf = map[Class]codes.Code{
	Unknown:           codes.Unknown,
	ConnectionRefused: codes.Unavailable,
	Timeout:           codes.DeadlineExceeded,
	DNSFailure:        codes.Unavailable,
	AuthFailure:       codes.Unauthenticated,
	InvalidArguments:  codes.InvalidArgument,
	ServerError:       codes.Internal,
	NotFound:          codes.NotFound,
	RateLimited:       codes.ResourceExhausted,
	ConsentRequired:   codes.FailedPrecondition,
	InvalidResult:     codes.DataLoss,
}

// ToStatus returns err as a gRPC status error that carries the failure as a
// detail. Any error will do: what is not a Failure is classified first. Canceled
// becomes a plain Canceled status, because the caller is gone and reads nothing.
// ToStatus of nil is nil.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	f := Classify(err)
	if f.Class == Canceled {
		return status.Error(codes.Canceled, "canceled")
	}
	p := ToProto(f)
	code, ok := codeOf[classFromProto[p.GetClass()]]
	if !ok {
		code = codes.Unknown
	}
	// The status message only serves readers without the detail; as a header it
	// takes up to three bytes for one.
	text := excerpt.Of(p.GetMessage(), maxStatus)
	st, detailErr := status.New(code, text).WithDetails(p)
	if detailErr != nil {
		return status.Error(code, text)
	}
	return st.Err()
}

// FromStatus returns the failure that a gRPC error carries, or nil when err
// carries none: then it is the process or the connection that failed, and only
// whoever owns the process can say why.
func FromStatus(err error) *Failure {
	st, ok := status.FromError(err)
	if !ok {
		return nil
	}
	for _, d := range st.Details() {
		if p, ok := d.(*adapterpb.Failure); ok {
			return FromProto(p)
		}
	}
	return nil
}
