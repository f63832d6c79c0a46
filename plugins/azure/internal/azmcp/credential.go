package azmcp

import (
	"cmp"
	"os"
	"slices"
)

// chain is the word for the server's own way: one credential after the other.
const chain = "chain"

// signIn says, for each credential that can be pinned, what to do when it is not there.
var signIn = map[string]string{
	"AzureCliCredential":          "run az login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
	"EnvironmentCredential":       "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE_PATH",
	"WorkloadIdentityCredential":  "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE",
	"ManagedIdentityCredential":   "give this machine a managed identity, or set credential in the config of this server to another one",
	"AzurePowerShellCredential":   "run Connect-AzAccount in PowerShell",
	"AzureDeveloperCliCredential": "run azd auth login",
	"VisualStudioCredential":      "sign in to Azure in Visual Studio",
	"VisualStudioCodeCredential":  "sign in to Azure in Visual Studio Code",
	"prod":                        "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or give this machine an identity",
	"dev":                         "run az login",
	chain:                         "run az login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
}

// Credentials are the values of Options.Credential, in order.
func Credentials() []string {
	all := make([]string, 0, len(signIn))
	for name := range signIn {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// credential is the one to pin. The server by itself tries a chain of seven, which
// takes longer, may sign in as somebody else, and reports 5 kB when none works.
func (o Options) credential() string {
	if named := cmp.Or(o.Credential, os.Getenv("AZURE_TOKEN_CREDENTIALS")); named != "" {
		return named
	}
	has := func(name string) bool { return os.Getenv(name) != "" }
	switch {
	case has("AZURE_CLIENT_ID") && has("AZURE_FEDERATED_TOKEN_FILE"):
		return "WorkloadIdentityCredential"
	case has("AZURE_CLIENT_ID") && (has("AZURE_CLIENT_SECRET") || has("AZURE_CLIENT_CERTIFICATE_PATH")):
		return "EnvironmentCredential"
	case has("IDENTITY_ENDPOINT") || has("MSI_ENDPOINT"):
		return "ManagedIdentityCredential"
	default:
		return "AzureCliCredential"
	}
}

// Environment are the variables that the server reads, for those it may see.
func Environment() []string {
	return []string{
		"AZURE_TOKEN_CREDENTIALS", "AZURE_TENANT_ID", "AZURE_SUBSCRIPTION_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET",
		"AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST",
		"AZURE_CONFIG_DIR", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "MSI_SECRET", "DOTNET_BUNDLE_EXTRACT_BASE_DIR",
	}
}
