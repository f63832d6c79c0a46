//go:build !windows

package cli_test

const exe = ""
