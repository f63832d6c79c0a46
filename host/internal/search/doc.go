// Package search ranks tools for a query in words, a model's or a person's: the
// index behind tool_search. It is given what servers say of their tools and
// returns canonical names with scores, best first.
//
// The ranker is BM25F: a word counts by how rare it is, and by the field it
// stands in, a tool's name far more than its description. Words come apart at
// camelCase, snake_case, kebab-case, dots and digits, and are compared by their
// Porter2 stems; Chinese, Japanese and Korean text is compared by characters and
// pairs of characters, and some of its everyday words are looked up in English.
// A word that no tool has is taken as the beginning of one, as two written
// together, or as one with a slip of the keyboard. A query that is a name, or a
// list of names, is not ranked: those tools come first, as they were asked for.
//
// An Index holds one part per server, replaced as a whole when that server's
// tools change. A query reads a Snapshot that nothing changes any more: it never
// waits, not even for a server of ten thousand tools being indexed.
//
// The same servers and query always give the same answer, in whatever order the
// servers were put: scores are rounded, and equal ones are ordered by name.
//
// The package reads no files, opens no connections, starts no goroutines, uses
// no clock and no embeddings, and keeps nothing of a query. It does not know who
// may see a tool: Options.Keep does. Text comes from strangers, so everything is
// read up to a limit (limits.go) and no input makes it panic.
package search
