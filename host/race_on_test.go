//go:build race

package host_test

// raceAllocations are those that the race detector adds to a call, at most.
const raceAllocations = 8
