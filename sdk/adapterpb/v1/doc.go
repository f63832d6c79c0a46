// Package adapterpb is the Go form of proto/collet/adapter/v1/adapter.proto:
// the contract between the collet host and one adapter process. All other files
// are generated; the .proto says what each message means, docs/contract.md what
// may change. Authors of plugins use package adapter instead.
package adapterpb
