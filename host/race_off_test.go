//go:build !race

package host_test

const raceAllocations = 0
