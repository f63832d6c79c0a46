# collet. `make build`, then bin/collet; `make test` is all that CI runs.
#
# Go decides what has to be rebuilt, so the binaries are always asked for; what
# comes from npm or the module proxy is pinned and installed once, into .cache/.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules
.DEFAULT_GOAL := build

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PROTOC_GEN  := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GRPC := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
GO_SDK      := github.com/modelcontextprotocol/go-sdk
GO_SDK_PIN  := v1.8.0
# buf, the MCP servers and the conformance suite: tools/buf, test/npm and test/conformance hold package.json
# and the lock.

CACHE := $(CURDIR)/.cache
# A node that tools/node.sh had to install wins over the machine's, which was too old.
export PATH := $(CACHE)/bin:$(CACHE)/node/node_modules/.bin:$(PATH)

# The workspace is the list of modules: one added there is built and tested here.
MODULES  := $(shell sed -n 's|^\t\./||p' go.work)
PACKAGES := $(MODULES:%=./%/...)
PLUGINS  := $(patsubst plugins/%,%,$(filter plugins/%,$(MODULES)))

# The steps are ordered, quick ones first, and each keeps both cores busy by itself.
.NOTPARALLEL:
.PHONY: build run test lint proto bench bench-peers tokens conformance clean
.PHONY: test-windows pages install uninstall release-check
.PHONY: fmt-check vet-all proto-check proto-freeze standalone unit servers

# How programs are compiled that ship. Whatever else compiles does it the same way where
# it can, so that a machine without a build cache compiles nothing twice.
SHIPPED := CGO_ENABLED=0 GOFLAGS=-trimpath

## build: the host, the plugins it ships with, and what verifies attestations of others
# No cgo: one static file per program, the same on every machine.
build:
	CGO_ENABLED=0 go build -trimpath -o bin/collet ./host/cmd/collet
	for p in $(PLUGINS); do CGO_ENABLED=0 go build -trimpath -o bin/collet-plugin-$$p ./plugins/$$p; done
	CGO_ENABLED=0 go build -trimpath -o bin/collet-plugin-hello ./sdk/examples/hello
	CGO_ENABLED=0 go build -trimpath -o bin/collet-attest ./attest

# The same pages from the same commit, whenever they are made.
PAGES := bin/share
pages:
	rm -rf $(PAGES)
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 0) CGO_ENABLED=0 go run -trimpath ./host/cmd/pages $(PAGES)

PREFIX  ?= /usr/local
DESTDIR ?=
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export DESTDIR := $(DESTDIR)
## install: programs, manual pages, completions and a service below $(DESTDIR)$(PREFIX); see docs/install.md
install: build pages
	packaging/install.sh install bin $(PAGES)

## uninstall: what install has put there
uninstall:
	packaging/install.sh uninstall

## run: list the tools of the shipped mcp.toml and call two of them
run: build servers
	bin/collet --config mcp.toml tools list --refresh
	@echo "Servers that want a key, a token, a login or an accepted licence say so above. That is expected."
	bin/collet --config mcp.toml tools call hello/greet name=world
	bin/collet --config mcp.toml tools call everything/get-sum a=2 b=40

## test: everything CI needs, the quick checks first
test: fmt-check build lint vet-all proto-check standalone unit

fmt-check:
	@bad=$$(gofmt -l $(MODULES)); [ -z "$$bad" ] || { echo "not gofmt-clean, run gofmt -w on:"; echo "$$bad"; exit 1; }

## lint: go vet, staticcheck, buf lint, goreleaser's own reading of its file
lint: $(CACHE)/bin/staticcheck $(CACHE)/buf/installed release-check
	$(SHIPPED) go vet $(PACKAGES)
	$(SHIPPED) staticcheck $(PACKAGES)
	cd proto && $(CACHE)/buf/node_modules/.bin/buf lint

release-check: $(CACHE)/bin/goreleaser build
	cd tools/goreleaser && GOWORK=off $(SHIPPED) go test ./...
	$(CACHE)/bin/goreleaser .goreleaser.yaml
	rm -rf $(CACHE)/scaffold && bin/collet plugins new checked --dir $(CACHE)/scaffold
	$(CACHE)/bin/goreleaser $(CACHE)/scaffold/.goreleaser.yaml

# Nobody here runs the other systems, so at least their files must type-check.
vet-all:
	GOOS=darwin go vet $(PACKAGES)
	GOOS=windows go vet $(PACKAGES)

# What can be tried of Windows without it: packages that say how processes there find each other, lock and share files.
# WINE must have what Go's runtime needs, bcryptprimitives.dll first of all, which wine 8 lacks. Left out are tests that
# build programs, for there is no go.exe; tests of modes, which Windows has not, and of links, which wine does not follow;
# and those of renames and writes that wine does otherwise.
WINDOWS_PACKAGES := $(addprefix ./host/internal/,sharedfile lockfile versioned pins trust logfile snapshot consent front/control credential/store)
WINDOWS_SKIP := TailDuringRotation|SymlinkMoved|Shipped|CopiesOfOthers|Modes|SeveralProcesses|WritersAtOnce|ProcessThatDoesNotRead|CallFromAnotherProcess|ProcessGoes|Flood|VerdictsTravel
## test-windows: tests of what is special on Windows, in wine: make test-windows WINE=/usr/lib/wine/wine64
test-windows:
ifdef WINE
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 WINEDEBUG=-all go test -trimpath -exec '$(WINE)' -timeout 10m -skip '$(WINDOWS_SKIP)' $(WINDOWS_PACKAGES)
else
	@echo "test-windows: SKIPPED, nothing was tested: say WINE=/path/to/wine64"
endif

# Each module also builds alone, as whoever requires it will build it. With the flags of build, nothing is
# compiled twice.
standalone:
	for m in $(MODULES); do (cd $$m && GOWORK=off CGO_ENABLED=0 go build -trimpath -o /dev/null ./...); done

# The race detector needs cgo. COLLET_NPM_DIR, COLLET_GOSDK_DIR, COLLET_CONFORMANCE_DIR and COLLET_TYPESCRIPT_DIR make
# the tests with real servers, the conformance suite and examples/typescript fail, not skip, without them;
# COLLET_BIN_DIR names the programs as they ship. The import rules look at all modules through go list, which the
# test cache does not see: they always run. The timeout is of one package, on a busy machine. On a machine without
# a build cache -exec has tests build programs as they ship; it also keeps results of tests from being cached.
unit: build servers $(CACHE)/conformance/installed $(CACHE)/typescript/installed
	$(SHIPPED) go test -count=1 ./host/internal/architecture
	COLLET_NPM_DIR=$(CACHE)/npm COLLET_GOSDK_DIR=$(CACHE)/gosdk COLLET_CONFORMANCE_DIR=$(CACHE)/conformance \
	COLLET_TYPESCRIPT_DIR=$(CACHE)/typescript COLLET_BIN_DIR=$(CURDIR)/bin CGO_ENABLED=1 \
		go test -race -timeout 20m $(if $(CI),-exec 'env $(SHIPPED)') $(PACKAGES)

## conformance: the official conformance suite, with what it says of each check: our client, and a server behind collet
conformance: $(CACHE)/conformance/installed $(CACHE)/gosdk/installed
	COLLET_CONFORMANCE_DIR=$(CACHE)/conformance go test -count=1 -v ./host/internal/credential/conformanceclient
	COLLET_CONFORMANCE_DIR=$(CACHE)/conformance COLLET_GOSDK_DIR=$(CACHE)/gosdk go test -count=1 -v -run TestFrontConformance ./host

## proto: generate sdk/adapterpb from proto/
BUF_GENERATE := cd proto && $(CACHE)/buf/node_modules/.bin/buf generate
proto: $(CACHE)/buf/installed $(CACHE)/bin/protoc-gen-go $(CACHE)/bin/protoc-gen-go-grpc
	$(BUF_GENERATE)

# The contract only grows: test/compat/README.md.
BUF_BREAKING := cd proto && $(CACHE)/buf/node_modules/.bin/buf breaking --against ../test/compat/proto
proto-freeze: $(CACHE)/buf/installed
	$(BUF_BREAKING)
	cp -r proto/collet test/compat/proto/

# doc.go is written by hand.
proto-check: $(CACHE)/buf/installed $(CACHE)/bin/protoc-gen-go $(CACHE)/bin/protoc-gen-go-grpc
	$(BUF_BREAKING)
	rm -rf $(CACHE)/generated
	$(BUF_GENERATE) -o $(CACHE)/generated/proto
	diff -r --exclude=doc.go sdk/adapterpb $(CACHE)/generated/sdk/adapterpb && diff -r --exclude=doc.go sdk/hookpb $(CACHE)/generated/sdk/hookpb || { echo "generated code is out of date: run make proto"; exit 1; }

## bench: figures of these binaries against floors measured in the same run, in bench/RESULTS.md; see bench/README.md
bench: build
	CGO_ENABLED=0 go run -trimpath ./bench -bin bin -out bench/RESULTS.md

## bench-peers: other programs of the kind beside collet, in bench/PEERS.md; see bench/README.md
bench-peers: build $(CACHE)/peers/installed
	CGO_ENABLED=0 go run -trimpath ./bench/peers -bin bin -npm $(CACHE)/peers -out bench/PEERS.md

## tokens: what the tools of real servers cost a model, counted; see bench/tokens/README.md
tokens: build $(CACHE)/tokens/installed
	CGO_ENABLED=0 go run -trimpath ./bench/tokens -bin bin -npm $(CACHE)/tokens

## clean: what build made; .cache/ (pinned tools and servers) stays
clean:
	rm -rf bin

# Pinned tools and servers. A stamp or a binary older than its pin is made again.
servers: $(CACHE)/npm/installed $(CACHE)/gosdk/installed

$(CACHE)/npm/installed: test/npm/package.json test/npm/package-lock.json
$(CACHE)/conformance/installed: test/conformance/package.json test/conformance/package-lock.json
$(CACHE)/typescript/installed: examples/typescript/package.json examples/typescript/package-lock.json
$(CACHE)/buf/installed: tools/buf/package.json tools/buf/package-lock.json
$(CACHE)/peers/installed: bench/peers/npm/package.json bench/peers/npm/package-lock.json
$(CACHE)/tokens/installed: bench/tokens/npm/package.json bench/tokens/npm/package-lock.json
# No install scripts: the packages are code we run in tests, not code we let run at will.
$(CACHE)/%/installed:
	tools/node.sh $(CACHE)/node
	mkdir -p $(@D) && cp $^ $(@D)
	cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund --no-progress
	touch $@

# The official Go SDK's servers: its conformance server, and examples over Streamable HTTP and HTTP+SSE.
$(CACHE)/gosdk/installed: Makefile
	GOBIN=$(@D) $(SHIPPED) go install $(patsubst %,$(GO_SDK)/%@$(GO_SDK_PIN),conformance/everything-server examples/server/memory examples/server/sse)
	touch $@

$(CACHE)/bin/goreleaser: tools/goreleaser/main.go tools/goreleaser/go.mod tools/goreleaser/go.sum
	mkdir -p $(@D)
	cd tools/goreleaser && GOWORK=off CGO_ENABLED=0 go build -trimpath -o $@ .

$(CACHE)/bin/staticcheck: PIN = $(STATICCHECK)
$(CACHE)/bin/protoc-gen-go: PIN = $(PROTOC_GEN)
$(CACHE)/bin/protoc-gen-go-grpc: PIN = $(PROTOC_GRPC)
$(CACHE)/bin/%: Makefile
	GOBIN=$(CACHE)/bin $(SHIPPED) go install $(PIN)
	touch $@
