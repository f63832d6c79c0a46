//go:build race

package codemode

// dataSpare has room for the race detector, when a test is the program of its scripts.
const dataSpare = 16 << 30
