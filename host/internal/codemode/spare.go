//go:build !race

package codemode

// dataSpare is what a process's data may have beyond the engine's heap: the program
// itself needs most of it.
const dataSpare = 192 << 20
