// Package hookpb is the Go form of proto/collet/hook/v1/hook.proto: the contract
// between the collet host and one hook process. All other files are generated; the
// .proto says what each message means. Authors of hooks use package hook instead.
package hookpb
