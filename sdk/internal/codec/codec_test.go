package codec

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

func messages() map[string]proto.Message {
	big := []byte(strings.Repeat("0123456789abcdef", large/16+7))
	result := func(raw []byte, isError bool) proto.Message {
		return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: &adapterpb.CallToolResult{Result: raw, IsError: isError}}}
	}
	return map[string]proto.Message{
		"small result":  result([]byte(`{}`), true),
		"at the bound":  result(big[:large], false),
		"below it":      result(big[:large-1], true),
		"large result":  result(big, false),
		"large error":   result(big, true),
		"large forward": &adapterpb.ForwardEvent{Event: &adapterpb.ForwardEvent_Result{Result: big}},
		"large call":    &adapterpb.CallToolRequest{Tool: "t", Arguments: big, CallId: "id", Meta: []byte(`{}`)},
		"no event":      &adapterpb.CallToolEvent{},
		"nil result":    &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{}},
		"progress":      &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Progress{Progress: &adapterpb.Progress{Done: 1, Message: string(big)}}},
	}
}

// What is sent is protobuf, and what anybody's protobuf sent is read.
func TestRoundTrip(t *testing.T) {
	c := New()
	for name, m := range messages() {
		t.Run(name, func(t *testing.T) {
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			sent, err := c.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(sent.Materialize(), want) {
				t.Error("the bytes sent are not those of protobuf")
			}
			// In frames, as they arrive.
			var frames mem.BufferSlice
			for rest := want; len(rest) > 0; {
				n := min(len(rest), 16<<10)
				frames = append(frames, mem.SliceBuffer(bytes.Clone(rest[:n])))
				rest = rest[n:]
			}
			got := m.ProtoReflect().New().Interface()
			if err := c.Unmarshal(frames, got); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, m) {
				t.Error("what was received is not what was sent")
			}
		})
	}
}

// A received message lives on when the transport uses its buffers again, and
// what the message held before is gone.
func TestUnmarshalOwnsItsMemory(t *testing.T) {
	c := New()
	raw, err := proto.Marshal(messages()["large error"])
	if err != nil {
		t.Fatal(err)
	}
	got := &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Log{Log: &adapterpb.LogRecord{Logger: "old"}}}
	frame := bytes.Clone(raw)
	if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(frame)}, got); err != nil {
		t.Fatal(err)
	}
	clear(frame)
	if !proto.Equal(got, messages()["large error"]) {
		t.Error("the message changed with the transport's buffer, or kept an old field")
	}
}

// What is not laid out as our end does it is read as protobuf says.
func TestUnmarshalOtherLayouts(t *testing.T) {
	c := New()
	raw, err := proto.Marshal(messages()["large error"])
	if err != nil {
		t.Fatal(err)
	}
	small, err := proto.Marshal(messages()["small result"])
	if err != nil {
		t.Fatal(err)
	}
	_, n := protowire.ConsumeVarint(raw[1:])
	body := raw[1+n:]
	inner := func(b ...byte) []byte { // a result with more fields behind
		head := protowire.AppendTag(nil, fieldEventResult, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(len(body)+len(b)))
		return append(append(head, body...), b...)
	}
	for name, b := range map[string][]byte{
		"cut off":              raw[:len(raw)-3],
		"cut off at the flag":  raw[:len(raw)-1],
		"two events":           append(bytes.Clone(raw), small...),
		"large event last":     append(bytes.Clone(small), raw...),
		"an unknown field":     append(bytes.Clone(raw), 0x78, 1),
		"flag twice":           inner(0x10, 0),
		"unknown inside":       inner(0x78, 1),
		"result twice":         inner(0x0a, 1, 'x'),
		"a length beyond":      append([]byte{0x1a, 0xff, 0xff, 0xff, 0xff, 0x7f}, raw...),
		"a length over 64 bit": append([]byte{0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, raw...),
		"no field":             bytes.Repeat([]byte{0}, large+1),
	} {
		t.Run(name, func(t *testing.T) {
			want, got := &adapterpb.CallToolEvent{}, &adapterpb.CallToolEvent{}
			wantErr := proto.Unmarshal(b, want)
			err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, got)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("error %v, protobuf says %v", err, wantErr)
			}
			if err == nil && !proto.Equal(got, want) {
				t.Error("it is read differently from protobuf")
			}
		})
	}
}

// A large result costs no copy on its way out and one on its way in.
func TestLargeResultIsNotCopied(t *testing.T) {
	c := New()
	ev := messages()["large result"].(*adapterpb.CallToolEvent)
	sent, err := c.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) != 2 || &sent[1].ReadOnlyData()[0] != &ev.GetResult().GetResult()[0] {
		t.Error("the result was copied")
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var got adapterpb.CallToolEvent
			if err := c.Unmarshal(sent, &got); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if size := int64(len(ev.GetResult().GetResult())); allocated > size+size/2 {
		t.Errorf("reading a result of %d bytes allocates %d", size, allocated)
	}
}

// A message of 64 KiB does not have gRPC take a buffer of 1 MiB for it.
func TestMiddleSizedMessage(t *testing.T) {
	want := &adapterpb.CallsEvent{Event: &adapterpb.CallsEvent_Result{Result: &adapterpb.CallToolResult{Result: bytes.Repeat([]byte("x"), 64<<10)}}}
	sent, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got adapterpb.CallsEvent
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = New().Unmarshal(mem.BufferSlice{mem.SliceBuffer(sent[:1000]), mem.SliceBuffer(sent[1000:])}, &got)
	runtime.ReadMemStats(&after)
	if err != nil || !proto.Equal(&got, want) {
		t.Fatalf("got %d bytes, %v", len(got.GetResult().GetResult()), err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4*64<<10 {
		t.Errorf("%d bytes were allocated for it", grown)
	}
}
