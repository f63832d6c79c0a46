//go:build !linux

package check

// Elsewhere nothing tells a stranger's descendants from other processes: what leaves
// its process group and outlives it is not found.

func marked(string) []int { return nil }

func killMarked(string) {}
