// Package exposure decides what each caller may see and call.
package exposure

// Exposure says who may see and call a tool.
type Exposure string

const (
	Direct   Exposure = "direct"
	Deferred Exposure = "deferred"
	Codemode Exposure = "codemode"
	Hidden   Exposure = "hidden"
)

// Caller says on whose behalf a call is made.
type Caller string

const (
	Model   Caller = "model"
	Script  Caller = "script"
	CLI     Caller = "cli"
	Program Caller = "program"
)

// Pattern gives the tools it matches an exposure.
type Pattern struct {
	Pattern  string
	Exposure Exposure
}

// Rules are one server's exposure settings.
type Rules struct {
	Default Exposure
	Tools   []Pattern
}
