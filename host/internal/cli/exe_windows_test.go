package cli_test

const exe = ".exe"
