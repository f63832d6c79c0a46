package cli

import "time"

// SetCompletionWait changes how long a completion waits for a server.
func SetCompletionWait(d time.Duration) { completionWait = d }
