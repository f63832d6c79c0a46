package azmcp

import (
	_ "embed"
	"slices"
	"strings"
)

// readsText are the commands that change nothing, of any service, one a line. The
// server's own word for it is where they come from, not what counts: it calls
// sending mail and text messages read-only. Those are left out, as is what costs
// money for each call (models), what sends a file of this machine away (speech) or
// leaves a report on it (extension_azqr).
//
//go:embed reads.txt
var readsText string

var reads = strings.Fields(readsText)

// writers are the services with no command in reads, and those that hand every call
// on to yet another server.
var writers = []string{"azd", "azuremigrate", "communication", "foundry", "speech", "extension_azqr"}

// readsOnly says whether a command, or a tool without commands, changes nothing.
func readsOnly(command string) bool {
	_, found := slices.BinarySearch(reads, command)
	return found
}

// commands are those of a tool in reads; the tool itself where it has no commands.
func commands(tool string) (list []string) {
	for _, c := range reads {
		if c == tool || strings.HasPrefix(c, tool+"_") {
			list = append(list, c)
		}
	}
	return list
}
