package host

import "github.com/collet-dev/collet/sdk/recording"

// recorder is what writes to Record, nil when nobody wants a recording.
func (o *Options) recorder() *recording.Writer {
	if o.Record == nil {
		return nil
	}
	return recording.NewWriter(o.Record, o.Version)
}
