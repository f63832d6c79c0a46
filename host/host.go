package host

import (
	"context"
	"errors"
)

// Host is an open host.
type Host struct{}

func Open(ctx context.Context, opt Options) (*Host, error)           { return nil, errors.New("stub") }
func (h *Host) Close() error                                         { return nil }
func (h *Host) Problems() []Problem                                  { return nil }
func (h *Host) Servers() []Server                                    { return nil }
func (h *Host) Tools(ctx context.Context, q Query) (*Listing, error) { return nil, errors.New("stub") }
func (h *Host) Tool(ctx context.Context, name string) (*Tool, error) { return nil, errors.New("stub") }
func (h *Host) Call(ctx context.Context, req Request) (*Result, error) {
	return nil, errors.New("stub")
}
func (h *Host) Subscribe(f func(Event)) (cancel func()) { return func() {} }
