package architecture

// attestRules are the lines of allowed for attest.
var attestRules = map[string]map[string]string{
	"attest": {
		"attest/internal/provenance": "it asks it about each bundle",
	},
	"attest/internal/provenance": {},
}
