package exposure

// Caller says on whose behalf a tool is listed or called. Anything but the four
// values has the rights of Model, the fewest.
type Caller string

// The callers.
const (
	Model   Caller = "model"   // a model client, through the MCP front
	Script  Caller = "script"  // a script of the codemode tool or of `collet run`
	CLI     Caller = "cli"     // a person or program at the command line
	Program Caller = "program" // a Go program, through package host
)

// Via says how a model calls a tool. It means nothing for the other callers, who
// have one way each.
type Via string

// The ways of a model.
const (
	ByName   Via = "name"   // tools/call with the tool's own wire name
	ByBridge Via = "bridge" // the bridge tool tool_call
)

// Listed reports whether the tool stands in the list that the caller gets: for a
// model the tools/list of the MCP front, for the others everything not hidden.
func (e Exposure) Listed(c Caller) bool {
	if !e.exists() {
		return false
	}
	return e == Direct || c.trusted()
}

// Searchable reports whether a search by the caller finds the tool.
func (e Exposure) Searchable(Caller) bool { return e.exists() }

// Callable reports whether the caller may call the tool that way. When it may not,
// reason is a clause that follows the tool's name and says what to do instead;
// it is empty for a tool that the caller must not know to exist, which has to be
// answered exactly as one that does not.
func (e Exposure) Callable(c Caller, via Via) (ok bool, reason string) {
	switch {
	case !e.exists():
		return false, ""
	case c.trusted() || e == Direct:
		return true, ""
	case e == Codemode:
		return false, "is called from scripts only: call it in a script with the tool codemode"
	case via == ByBridge:
		return true, ""
	default:
		return false, "is not in the list of tools: call it with the tool tool_call"
	}
}

// exists reports whether any caller may know of the tool.
func (e Exposure) exists() bool { return e == Direct || e == Deferred || e == Codemode }

// trusted reports whether the caller reaches everything that is not hidden.
func (c Caller) trusted() bool { return c == Script || c == CLI || c == Program }
