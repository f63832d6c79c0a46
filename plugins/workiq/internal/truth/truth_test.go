package truth

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

var advice = Advice{Licence: "accept it", SignIn: "workiq auth login"}

// TestLines has a text for each line of the table, in its order.
func TestLines(t *testing.T) {
	texts := []string{
		"You must accept the EULA before using this tool. Please use the accept_eula tool.",
		"AADSTS65001: The user or administrator has not consented to use the application with ID 'ba081686'.",
		"AADSTS65002: Consent between first party application and first party resource must be configured via preauthorization.",
		"AADSTS650052: The app is trying to access a service that your organization lacks a service principal for.",
		"AADSTS90094: The grant requires elevated permissions.",
		"Error: admin consent is required for the requested scopes.",
		"Need admin approval. Work IQ CLI needs permission to access resources in your organization.",
		"The caller is not entitled to use this tool.",
		"Error: Exception of type 'ApiSdk.Models.CopilotConversation403Error' was thrown.",
		"Response status code does not indicate success: 403 (Forbidden).",
		"A Microsoft 365 Copilot license is required.",
		"Access denied for path: /me/messages",
		"Unable to load shared library 'msalruntime' or one of its dependencies.",
		"libwebkit2gtk-4.0.so.37: cannot open shared object file",
		"Please re-authenticate by running 'workiq ask' interactively.",
		"Authentication failed.",
		"Failed to acquire standard OBO token: AADSTS500133: Assertion is not within its valid time range.",
		"interaction_required: the user has to select an account",
		"MsalUiRequiredException: no token in the cache",
		"Silent token acquisition failed: AccountNotFound",
		"Your session has expired.",
		"The access token has expired.",
		"You are not signed in.",
		"Response status code does not indicate success: 401 (Unauthorized).",
		"Response status code does not indicate success: 429 (Too Many Requests).",
		"Too many requests, slow down.",
		"The request was throttled.",
		"The request timed out.",
		"The request was canceled due to the configured HttpClient.Timeout of 300 seconds elapsing.",
		"Name or service not known (workiq.svc.cloud.microsoft:443)",
		"No such host is known. (workiq.svc.cloud.microsoft:443)",
		"Connection refused (127.0.0.1:3128)",
		"An error occurred while processing your request.",
	}
	if len(texts) != len(lines) {
		t.Fatalf("%d texts for %d lines", len(texts), len(lines))
	}
	for i, text := range texts {
		l, f := lines[i], Of(text, advice)
		first := slices.IndexFunc(lines, func(l line) bool { return strings.Contains(strings.ToLower(text), l.says) })
		if f == nil || first != i {
			t.Errorf("%q is line %d, not %d (%s): %v", text, first, i, l.says, f)
			continue
		}
		if f.Class != l.class || string(f.UpstreamData) != text || f.Origin != failure.OriginUpstream || strings.Contains(f.Message, "\n") {
			t.Errorf("%q is %s: %s", text, f.Class, f.Message)
		}
		switch {
		case l.kind == licence:
			if !errors.Is(f, ErrLicence) || f.Delivery != failure.NotSent || !strings.HasSuffix(f.Message, "accept it") {
				t.Errorf("%q: %+v", text, f)
			}
			continue
		case l.kind == signIn && !strings.HasPrefix(f.Message, `Work IQ wants you to sign in: run "workiq auth login" in a terminal, then call again (`):
			t.Errorf("%q: %s", text, f.Message)
		case !strings.HasSuffix(f.Message, l.tip):
			t.Errorf("%q does not say %q: %s", text, l.tip, f.Message)
		case l.kind != signIn && !strings.Contains(f.Message, strings.TrimRight(text, ".")):
			t.Errorf("%q is lost in %s", text, f.Message)
		}
		if f.Delivery != failure.Answered {
			t.Errorf("%q was %s", text, f.Delivery)
		}
	}
	for _, text := range []string{"", "It is Tuesday.", strings.Repeat("It is Tuesday. ", 200) + "Authentication failed."} {
		if f := Of(text, advice); f != nil {
			t.Errorf("%.40q is %v", text, f)
		}
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]Answer{
		`{"response":"Ann.","conversationId":"c","error":null}`:                    {Text: "Ann.", ConversationID: "c", Envelope: true},
		`{"response":null,"conversationId":null,"error":"Authentication failed."}`: {Error: "Authentication failed.", Envelope: true},
		`{"response":null,"error":{"code":"throttled","retryAfterSeconds":20.5}}`:  {Error: `{"code":"throttled","retryAfterSeconds":20.5}`, RetryAfter: 20500 * time.Millisecond, Envelope: true},
		`{"response":null,"error":{"message":"busy"},"retryAfterSeconds":7}`:       {Error: "busy", RetryAfter: 7 * time.Second, Envelope: true},
		`{"response":null,"error":"busy","retryAfterSeconds":1e300}`:               {Error: "busy", RetryAfter: maxRetryAfter, Envelope: true},
		`{"response":null,"error":"busy","retryAfterSeconds":-1}`:                  {Error: "busy", Envelope: true},
		`{"teamExpertise":[]}`: {Text: `{"teamExpertise":[]}`},
		`{"response":`:         {Text: `{"response":`},
		`null`:                 {Text: `null`},
		`Ann.`:                 {Text: `Ann.`},
	} {
		if got := Read(text); got != want {
			t.Errorf("%s is %+v", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"response":"Ann.","conversationId":"c","error":null,"retryAfterSeconds":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		if a := Read(text); !a.Envelope && a.Text != text || a.RetryAfter < 0 || a.RetryAfter > maxRetryAfter {
			t.Errorf("%q is %+v", text, a)
		}
		_ = Of(text, advice)
	})
}
