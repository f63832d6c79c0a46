package azmcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// answered is a result with those blocks of text.
func answered(isError bool, blocks ...string) *adapter.Result {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var content []block
	for _, b := range blocks {
		content = append(content, block{"text", b})
	}
	raw, _ := json.Marshal(map[string]any{"content": content, "isError": isError})
	return &adapter.Result{JSON: raw, IsError: isError}
}

// status is the server's JSON with a message.
func status(code string, message string) string {
	m, _ := json.Marshal(message)
	return `{"status":` + code + `,"message":` + string(m) + `,"results":{"message":"m","type":"Exception"},"duration":0}`
}

const (
	manual  = ". To mitigate this issue, please refer to the troubleshooting guidelines here at https://aka.ms/azmcp/troubleshooting."
	loginAt = "Authentication failed. Please run 'az login' to sign in to Azure. Details: "
	// Of the chain: one line for each credential, with paths.
	chained = loginAt + "The ChainedTokenCredential failed to retrieve a token from the included credentials.\n" +
		"- EnvironmentCredential authentication unavailable. Environment variables are not fully configured. See the troubleshooting guide for more information. https://aka.ms/azsdk/net/identity/environmentcredential/troubleshoot\n" +
		"- VisualStudioCredential authentication failed: Visual Studio Token provider can't be accessed at /home/ada/.IdentityService/AzureServiceAuth/tokenprovider.json\n" +
		"- Azure CLI not installed" + manual
)

// The texts as the pinned server writes them; one case for each line of the table at
// least.
func TestProse(t *testing.T) {
	twice := func(host string) string { return strings.Repeat(" ("+host+")", 4) }
	for _, c := range []struct {
		text  string
		class failure.Class
		says  string
	}{
		{status("500", "Retry failed after 4 tries."+twice("Name or service not known (prices.azure.com:443)")+manual), failure.DNSFailure, "Azure cannot be reached: Name or service not known (prices.azure.com:443); look at the network"},
		{status("401", loginAt+"EnvironmentCredential is not available: ClientSecretCredential authentication failed: Retry failed after 4 tries."+twice("Name or service not known (login.microsoftonline.com:443)")+manual), failure.DNSFailure, "(login.microsoftonline.com:443)"},
		{status("503", "Service unavailable or network connectivity issues. Details: Resource temporarily unavailable (raw.githubusercontent.com:443)"+manual), failure.DNSFailure, "Resource temporarily unavailable (raw"},
		{status("503", "Service unavailable or network connectivity issues. Details: nodename nor servname provided, or not known (raw.githubusercontent.com:443)"+manual), failure.DNSFailure, "not known (raw"},
		{status("503", "Service unavailable or network connectivity issues. Details: No such host is known. (raw.githubusercontent.com:443)"+manual), failure.DNSFailure, "(raw.githubusercontent.com:443)"},
		{status("500", "Connection refused (127.0.0.1:1)"), failure.ConnectionRefused, "Azure cannot be reached: Connection refused (127.0.0.1:1)"},
		{status("500", "Network is unreachable ([2603:1030::1]:443)"), failure.ConnectionRefused, "Network is unreachable"},
		{status("500", "No route to host (10.0.0.1:443)"), failure.ConnectionRefused, "No route to host"},
		{status("500", "The request was canceled due to the configured HttpClient.Timeout of 100 seconds elapsing."), failure.Timeout, "HTTPS_PROXY"},
		{"Failed to create MCP client for registry server 'documentation': Name or service not known (learn.microsoft.com:443)", failure.DNSFailure, "(learn.microsoft.com:443)"},
		{"Failed to create MCP client for registry server 'foundry': Forbidden", failure.ConnectionRefused, "'foundry': Forbidden"},
		{"Failed to initialize the 'azd' MCP tool.\nThis tool may require dependencies that are not installed.\n\nInstallation Instructions:\n...", failure.ConnectionRefused, "Failed to initialize the 'azd' MCP tool"},
		{"This tool handles sensitive data and requires user consent, but the client does not support elicitation. Operation rejected for security.", failure.ConsentRequired, "cannot be asked"},
		{"Operation cancelled by user (decline).", failure.ConsentRequired, "nobody agreed"},
		{"Missing Required options: --subscription\n\n- Review the following command spec and identify the required arguments from the input schema.", failure.InvalidArguments, "Missing Required options: --subscription; name one in parameters"},
		{status("400", "Missing Required options: --subscription"), failure.InvalidArguments, "AZURE_SUBSCRIPTION_ID"},
		{heading + " and their parameters for 'storage' tool.\n\n[{\"name\":\"storage_account_get\"},{\"name\":\"storage_blob_get\"}]", failure.InvalidArguments, "there are: storage_account_get, storage_blob_get"},
		{"The tool nosuch was not found", failure.NotFound, "nosuch"},
		{status("401", loginAt+"Azure CLI not installed"+manual), failure.AuthFailure, "not signed in to Azure (AzureCliCredential: Azure CLI not installed): run az login, or set AZURE_TENANT_ID"},
		{status("401", chained), failure.AuthFailure, "not signed in to Azure (AzureCliCredential: none of its credentials works): run az login"},
		{status("401", loginAt+"ClientSecretCredential authentication failed: A configuration issue is preventing authentication. AADSTS7000215: Invalid client secret provided. Trace ID: 1"+manual), failure.AuthFailure, "AADSTS7000215: Invalid client secret provided)"},
		{status("403", "Authorization failed. The client 'x' does not have authorization to perform action"), failure.AuthFailure, "az role assignment create"},
		{status("429", "Too many requests. Retry-After: 17"), failure.RateLimited, "Too many requests"},
		{status("500", "Object reference not set to an instance of an object"), failure.ServerError, "Object reference"},
		{status("502", "Bad gateway"), failure.ServerError, "Bad gateway"},
		{status("503", "Service unavailable"), failure.ServerError, "Service unavailable"},
		{status("504", "Gateway timeout"), failure.Timeout, "Gateway timeout"},
	} {
		call := &adapter.Call{Tool: "storage", Args: json.RawMessage(`{"intent":"x","command":"storage_account_get"}`)}
		_, err := judge(call, answered(!strings.HasPrefix(c.text, heading), c.text), "AzureCliCredential")
		f, ok := err.(*failure.Failure)
		if !ok || f.Class != c.class || f.Delivery != failure.Answered || !strings.Contains(f.Message, c.says) {
			t.Errorf("%.120s\n  is %v, want %s and %q", c.text, err, c.class, c.says)
			continue
		}
		if strings.ContainsAny(f.Message, "\n") || strings.Contains(f.Message, "/home/") || strings.Contains(f.Message, "aka.ms") || len(f.Message) > 2*maxBrief {
			t.Errorf("%d bytes: %s", len(f.Message), f.Message)
		}
		if want := c.text[:min(len(c.text), maxRaw)]; string(f.UpstreamData) != want {
			t.Errorf("%.120s: it keeps %s", c.text, f.UpstreamData)
		}
		if c.class == failure.RateLimited && f.RetryAfter != 17*time.Second {
			t.Errorf("retry after %s", f.RetryAfter)
		}
	}
}

// What the tool has to say for itself is no failure.
func TestToolsOwnAnswer(t *testing.T) {
	for _, text := range []string{
		status("404", "The Resource 'x' was not found"), status("409", "exists already"), status("422", "Could not fetch the template"), "whatever else",
	} {
		res, err := judge(&adapter.Call{Tool: "storage", Args: json.RawMessage(`{"command":"storage_account_get"}`)}, answered(true, text), chain)
		if err != nil || !res.IsError || mcpadapter.Text(res.JSON) != text {
			t.Errorf("%s: %v, %v", text, res, err)
		}
	}
	// The server marks what it cannot do; should it forget, the status still says so.
	res, err := judge(&adapter.Call{Tool: "storage"}, answered(false, status("404", "x")), chain)
	if err != nil || !res.IsError || !gjson.GetBytes(res.JSON, "isError").Bool() {
		t.Errorf("%v, %v", res, err)
	}
}

// The server explains a missing option at length, in a block before its JSON.
func TestMissingOption(t *testing.T) {
	long := "Missing Required options: --subscription\n\n- Review the following command spec" + strings.Repeat("x", 5000)
	_, err := judge(&adapter.Call{Tool: "storage"}, answered(true, long, status("400", "Missing Required options: --subscription")), chain)
	if f, ok := err.(*failure.Failure); !ok || f.Class != failure.InvalidArguments || len(f.UpstreamData) != maxRaw {
		t.Errorf("%v", err)
	}
}

func TestWait(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"Headers:\nRetry-After: 17\nDate: x": 17 * time.Second, "Please retry after 5 seconds": 5 * time.Second,
		"Retry-After: 0": time.Millisecond, "retry after a while": 0, "": 0,
	} {
		if got := wait(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
