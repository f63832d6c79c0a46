package host

import "github.com/collet-dev/collet/host/internal/codemode"

// Why a script failed.
const (
	ScriptSyntax  = codemode.KindSyntax
	ScriptThrew   = codemode.KindScript
	ScriptTimeout = codemode.KindTimeout
	ScriptMemory  = codemode.KindMemory
	ScriptOutput  = codemode.KindOutput
	ScriptStalled = codemode.KindStalled
	ScriptAborted = codemode.KindAborted
	ScriptSandbox = codemode.KindSandbox
)

// ScriptNotMade is the status of a call that a dry run did not make.
const ScriptNotMade = "not-made"

// MaxScript is the most bytes of a script.
const MaxScript = codemode.MaxSource
