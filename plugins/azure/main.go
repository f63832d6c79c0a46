// Command collet-plugin-azure serves Azure by Microsoft's own MCP server, which it
// starts, and Microsoft's documentation by Microsoft Learn, which it reaches. What it
// makes of them is in internal/azmcp and internal/learn.
package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/plugins/azure/internal/azmcp"
	"github.com/collet-dev/collet/plugins/azure/internal/learn"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

type config struct {
	LearnURL string `json:"learn_url,omitempty" jsonschema:"the MCP endpoint of Microsoft Learn; https://learn.microsoft.com/api/mcp when left out"`

	DocsOnly     bool     `json:"docs_only,omitempty" jsonschema:"only the documentation: do not start the Azure MCP server"`
	Command      []string `json:"command,omitempty" jsonschema:"the Azure MCP server: program and arguments before its own; azmcp from the PATH or else npx with a pinned version when left out"`
	Namespaces   []string `json:"namespaces,omitempty" jsonschema:"the Azure services to offer: storage, keyvault, aks, ...; all when left out"`
	Writes       bool     `json:"writes,omitempty" jsonschema:"offer commands that change something, too"`
	Credential   string   `json:"credential,omitempty" jsonschema:"how to sign in: AzureCliCredential, EnvironmentCredential, ManagedIdentityCredential, ..., prod, dev, or chain for one after the other; else AZURE_TOKEN_CREDENTIALS, else by the variables that are set, else AzureCliCredential" collet:"public"`
	Tenant       string   `json:"tenant,omitempty" jsonschema:"the Entra tenant; else AZURE_TENANT_ID"`
	Subscription string   `json:"subscription,omitempty" jsonschema:"the subscription where a call names none; else AZURE_SUBSCRIPTION_ID"`
	Cloud        string   `json:"cloud,omitempty" jsonschema:"AzureCloud, AzureChinaCloud, AzureUSGovernment, or the https URL of an authority"`
}

func main() {
	adapter.Main(adapter.Info{
		Name: "azure", Version: "0.1.0", License: "Apache-2.0", Homepage: "https://learn.microsoft.com",
		Summary:        "Azure through Microsoft's own MCP server, and Microsoft's documentation.",
		Environment:    azmcp.Environment(),
		MCPVersions:    mcp.Versions(),
		DefaultTimeout: 30 * time.Second,
		// npx downloads the server when it starts it for the first time.
		DefaultStartTimeout: 2 * time.Minute,
	}, open)
}

func open(_ context.Context, env *adapter.Env, cfg config) (adapter.Server, error) {
	docs, err := learn.Server(cfg.LearnURL)
	if err != nil {
		return nil, invalid("/learn_url", "format", failure.Classify(err).Message)
	}
	if cfg.DocsOnly {
		return mcpadapter.New(env, docs), nil
	}
	opt := azmcp.Options{
		Command: cfg.Command, Namespaces: cfg.Namespaces, Writes: cfg.Writes,
		Credential: cfg.Credential, Tenant: cfg.Tenant, Subscription: cfg.Subscription, Cloud: cfg.Cloud,
	}
	if all := azmcp.Credentials(); cfg.Credential != "" && !slices.Contains(all, cfg.Credential) {
		return nil, invalid("/credential", "enum", "credential must be one of "+strings.Join(all, ", "))
	}
	if name := opt.Unknown(); name != "" {
		return nil, invalid("/namespaces", "enum", "there is no Azure service called "+name+": they are called as the tools are")
	}
	of := func(tool string) int {
		if learn.Offers(tool) {
			return 0
		}
		return 1
	}
	return mcpadapter.Join(env, of,
		mcpadapter.Part{Name: "Microsoft Learn", Options: docs},
		mcpadapter.Part{Name: "the Azure MCP server", Options: azmcp.Server(opt)}), nil
}

func invalid(path, rule, message string) error {
	f := failure.New(failure.InvalidArguments, failure.NotSent, "%s", message)
	f.Problems = []failure.Problem{{Path: path, Rule: rule, Message: message}}
	return f
}
