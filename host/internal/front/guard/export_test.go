package guard

import "time"

// Hurry shortens the deadlines of stalled clients.
func (g *Guard) Hurry(t time.Duration) { g.bodyTime, g.writeTime = t, t }
