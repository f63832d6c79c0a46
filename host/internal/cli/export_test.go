package cli

import "time"

// SetCompletionWait changes how long a completion waits for a server.
func SetCompletionWait(d time.Duration) { completionWait = d }

// SetDialWait has commands wait that long for a host that is there, and clients whose
// host has ended four times as long for the next.
func SetDialWait(d time.Duration) { dialWait = d; joinWait = 4 * d }
