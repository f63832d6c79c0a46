// Package codec encodes the contract's messages for gRPC. On the wire it is
// protobuf to the byte; the difference is what a large result costs: it is not
// copied into the message that is sent, and once instead of twice out of what
// was received. Everything else it leaves to gRPC's own codec.
package codec

import (
	"bytes"
	"io"
	"math"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// large is from what size on, in bytes, a copy costs more than its avoidance.
const large = 32 << 10

// grpcBuffer is the size, in bytes, of the buffer that gRPC's codec takes for every
// message of more than 32 KiB that came in pieces, even for one of 33 KiB. Messages
// below it are put together here, in a buffer of their own size.
const grpcBuffer = 1 << 20

// The fields of a result inside a CallToolEvent (adapter.proto).
const (
	fieldEventResult = 3 // CallToolEvent.result
	fieldResult      = 1 // CallToolResult.result
	fieldIsError     = 2 // CallToolResult.is_error
)

// isError is the field of that name when it is true.
var isError = protowire.AppendVarint(protowire.AppendTag(nil, fieldIsError, protowire.VarintType), 1)

// New returns the codec. What it was given to send must not change any more, and
// what it has received shares memory with nothing else.
func New() encoding.CodecV2 { return codec{encoding.GetCodecV2(grpcproto.Name)} }

type codec struct{ encoding.CodecV2 }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if ev, ok := v.(*adapterpb.CallToolEvent); ok {
		if r := ev.GetResult(); len(r.GetResult()) >= large && len(ev.ProtoReflect().GetUnknown())+len(r.ProtoReflect().GetUnknown()) == 0 {
			return marshalResult(r), nil
		}
	}
	return c.CodecV2.Marshal(v)
}

// marshalResult is the event of r, with the result itself as it lies in memory.
func marshalResult(r *adapterpb.CallToolResult) mem.BufferSlice {
	var tail []byte
	if r.GetIsError() {
		tail = isError
	}
	inner := protowire.AppendTag(nil, fieldResult, protowire.BytesType)
	inner = protowire.AppendVarint(inner, uint64(len(r.GetResult())))
	head := protowire.AppendTag(nil, fieldEventResult, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(inner)+len(r.GetResult())+len(tail)))
	message := mem.BufferSlice{mem.SliceBuffer(append(head, inner...)), mem.SliceBuffer(r.GetResult())}
	if tail != nil {
		message = append(message, mem.SliceBuffer(tail))
	}
	return message
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if ev, ok := v.(*adapterpb.CallToolEvent); ok && data.Len() >= large {
		if r := unmarshalResult(data); r != nil {
			proto.Reset(ev)
			ev.Event = &adapterpb.CallToolEvent_Result{Result: r}
			return nil
		}
	}
	if m, ok := v.(proto.Message); ok && data.Len() > large && data.Len() < grpcBuffer {
		return proto.Unmarshal(data.Materialize(), m)
	}
	return c.CodecV2.Unmarshal(data, v)
}

// unmarshalResult reads an event that is a result and nothing else, its fields
// in order, as every encoder writes it. For all other input it returns nil.
// gRPC's codec would copy the whole message first, and then the result.
func unmarshalResult(data mem.BufferSlice) *adapterpb.CallToolResult {
	head := data[0].ReadOnlyData()
	whole := data.Len()
	event, n := field(head, fieldEventResult)
	if n < 0 || n+event != whole {
		return nil
	}
	start := n
	size, n := field(head[start:], fieldResult)
	if n < 0 || size > whole-start-n || whole-start-n-size > len(isError) {
		return nil
	}
	start += n
	r := data.Reader()
	defer r.Close()
	if _, err := r.Discard(start); err != nil {
		return nil
	}
	result := &adapterpb.CallToolResult{Result: make([]byte, size)}
	if _, err := io.ReadFull(r, result.Result); err != nil {
		return nil
	}
	tail := make([]byte, r.Remaining())
	if _, err := io.ReadFull(r, tail); err != nil {
		return nil
	}
	result.IsError = bytes.Equal(tail, isError)
	if len(tail) > 0 && !result.IsError {
		return nil
	}
	return result
}

// field reads the tag and the length of a field of that number, and returns the
// length with the number of bytes read, negative when it is another field.
func field(b []byte, number protowire.Number) (length, n int) {
	got, kind, tag := protowire.ConsumeTag(b)
	if tag < 0 || got != number || kind != protowire.BytesType {
		return 0, -1
	}
	size, m := protowire.ConsumeVarint(b[tag:])
	if m < 0 || size > math.MaxInt32 {
		return 0, -1
	}
	return int(size), tag + m
}
