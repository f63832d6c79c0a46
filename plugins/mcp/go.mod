module github.com/collet-dev/collet/plugins/mcp

go 1.26.0

replace github.com/collet-dev/collet/sdk => ../../sdk

require github.com/collet-dev/collet/sdk v0.0.0
