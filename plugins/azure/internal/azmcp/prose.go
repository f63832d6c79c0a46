package azmcp

import (
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// line is one thing that the server says instead of an answer, and what it means.
type line struct {
	status       int    // of the JSON that most answers consist of; 0 is any, and prose alone
	begins, says string // the text, or the JSON's message, begins with and holds that
	class        failure.Class
	// means is what to say in place of the server's words; after adds to them.
	means, after string
}

const (
	offline = "; look at the network of this machine and at HTTPS_PROXY"
	heading = "Here are the available command"
)

// lines are those texts of the pinned version; the first that fits counts. What is
// not there, or is there already, is the tool's own answer.
var lines = []line{
	// Whatever else went wrong: Azure was not reached. .NET words it as each system does.
	{says: "Name or service not known (", class: failure.DNSFailure, after: offline},
	{says: "Resource temporarily unavailable (", class: failure.DNSFailure, after: offline},
	{says: "nodename nor servname provided, or not known (", class: failure.DNSFailure, after: offline},
	{says: "No such host is known. (", class: failure.DNSFailure, after: offline},
	{says: "Connection refused (", class: failure.ConnectionRefused, after: offline},
	{says: "Network is unreachable (", class: failure.ConnectionRefused, after: offline},
	{says: "No route to host (", class: failure.ConnectionRefused, after: offline},
	{says: "configured HttpClient.Timeout of", class: failure.Timeout, after: offline},

	{begins: "This tool handles sensitive data and requires user consent", class: failure.ConsentRequired,
		means: "the command shows secrets, which a person has to agree to, and whoever calls cannot be asked"},
	{begins: "Operation cancelled by user", class: failure.ConsentRequired,
		means: "the command shows secrets, and nobody agreed to it"},
	{begins: "Missing Required options: ", class: failure.InvalidArguments},
	{status: 400, begins: "Missing Required options: ", class: failure.InvalidArguments},
	{begins: heading, class: failure.InvalidArguments},
	{begins: "The tool ", says: " was not found", class: failure.NotFound},
	{begins: "Failed to create MCP client for registry server", class: failure.ConnectionRefused},
	{begins: "Failed to initialize the '", class: failure.ConnectionRefused},

	{status: 401, class: failure.AuthFailure},
	{status: 403, class: failure.AuthFailure, after: "; the account lacks a role there: whoever owns the resource gives it one, with az role assignment create"},
	{status: 429, class: failure.RateLimited},
	{status: 500, class: failure.ServerError},
	{status: 502, class: failure.ServerError},
	{status: 503, class: failure.ServerError},
	{status: 504, class: failure.Timeout},
}

// maxRaw bounds the text that a failure keeps: with more than 1 KiB of data it
// would keep none.
const maxRaw = 1000

// said is what the server answered with.
type said struct {
	text    string // all of it
	status  int    // of its JSON; 0 when there is none
	message string // of its JSON, or all of it
}

// failure is what it means; nil when it is the tool's own answer. Credential is what
// it signs in with.
func (s said) failure(credential string) *failure.Failure {
	for _, l := range lines {
		if l.status != 0 && l.status != s.status || l.status == 0 && l.begins != "" && s.status != 0 ||
			!strings.HasPrefix(s.message, l.begins) || !strings.Contains(s.message, l.says) {
			continue
		}
		f := failure.New(l.class, failure.Answered, "%s", l.word(s, credential))
		f.Origin, f.UpstreamCode = failure.OriginUpstream, s.status
		f.UpstreamData = []byte(s.text[:min(len(s.text), maxRaw)])
		if l.class == failure.RateLimited {
			f.RetryAfter = wait(s.text)
		}
		return f
	}
	return nil
}

func (l line) word(s said, credential string) string {
	switch {
	case l.means != "":
		return l.means
	case l.class == failure.AuthFailure && l.status == 401:
		return signedOut(s.message, credential)
	case l.after == offline:
		return "Azure cannot be reached: " + spot(s.message, strings.TrimSuffix(l.says, " (")) + l.after
	case l.begins == heading:
		return "there is no such command; there are: " + strings.Join(names(s.message), ", ")
	}
	message := brief(s.message)
	if l.class == failure.InvalidArguments && strings.Contains(message, "--subscription") {
		message += "; name one in parameters, or set subscription in the config of this server, or AZURE_SUBSCRIPTION_ID"
	}
	return message + l.after
}

// spot is a complaint with what it is about, which follows in brackets.
func spot(message, complaint string) string {
	_, rest, ok := strings.Cut(message, complaint+" (")
	where, _, closed := strings.Cut(rest, ")")
	if !ok || !closed || strings.ContainsAny(where, "\n ") {
		return complaint
	}
	return complaint + " (" + where + ")"
}

// entraCode is how Microsoft Entra numbers its errors, and the sentence that follows.
var entraCode = regexp.MustCompile(`AADSTS\d+: [^.\r\n]*`)

// signedOut says that there is no credential, why in a few words, and what to do.
// The server itself lists every credential that it tried, with paths of this machine.
func signedOut(message, credential string) string {
	why := entraCode.FindString(message)
	_, details, _ := strings.Cut(message, "Details: ")
	switch {
	case why != "":
	case strings.Contains(details, "\n"):
		why = "none of its credentials works"
	default:
		why = brief(details)
	}
	if why != "" {
		why = " (" + credential + ": " + why + ")"
	}
	advice := signIn[credential]
	if advice == "" {
		advice = signIn[chain]
	}
	return "not signed in to Azure" + why + ": " + advice
}

// maxBrief bounds what is repeated of the server's words, in bytes.
const maxBrief = 300

// brief is the first line of a message without the references to manuals.
func brief(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	for _, end := range []string{". To mitigate this issue, please refer to", " See the troubleshooting guide", " https://aka.ms/"} {
		message, _, _ = strings.Cut(message, end)
	}
	message = strings.TrimRight(strings.TrimSpace(message), ". ")
	if len(message) > maxBrief {
		message = strings.ToValidUTF8(message[:maxBrief], "") + "..."
	}
	return message
}

// names are those of the commands in a list of them.
func names(text string) (all []string) {
	for _, c := range listed(text) {
		all = append(all, c.Get("name").Str)
	}
	return all
}

// listed is the list of commands that the server answers with where it is not told
// one: a heading, an empty line, a JSON array.
func listed(text string) []gjson.Result {
	_, list, ok := strings.Cut(text, "\n\n[")
	if !ok || !gjson.Valid("["+list) {
		return nil
	}
	return gjson.Parse("[" + list).Array()
}

// wait reads how long to wait out of a message: a header in it, or "retry after 17
// seconds". Zero when it does not say.
func wait(text string) time.Duration {
	for _, before := range []string{"Retry-After: ", "retry after "} {
		_, rest, ok := strings.Cut(text, before)
		if !ok {
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(rest)
		}
		if d, err := time.ParseDuration(rest[:end] + "s"); err == nil {
			return max(d, time.Millisecond) // zero would say that waiting does not help
		}
	}
	return 0
}
