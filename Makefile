# Barewire. `make help` lists the targets.

GO ?= go
ADDR ?= 127.0.0.1:8080
ARGS ?=
# The architecture of make board.
BOARD = $(or $(GOARCH),arm64)

# Packages that build on every system.
PORTABLE = ./pagepool/... ./ring/... ./mac/... ./endpoint/... ./examples/...

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## start the example HTTP server on a fake MAC (ADDR=host:port ARGS="-mtu 9000")
	@$(GO) build -o bin/httpserver ./examples/httpserver
	@exec bin/httpserver -addr $(ADDR) $(ARGS)

.PHONY: board
board: ## build the server for a board as one static binary (GOARCH=arm64, arm, riscv64 or amd64)
	@GOOS=linux GOARCH=$(BOARD) GOARM=7 CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/httpserver-linux-$(BOARD) ./examples/httpserver
	@wc -c bin/httpserver-linux-$(BOARD) | awk '{ printf "%s: %s bytes, static\n", $$2, $$1 }'

.PHONY: test
test: ## run all tests, with the race detector
	@sh .ci/setup
	$(GO) test -race ./...
	@echo "once more without the race detector, which spoils counts of allocations:"
	$(GO) test -count=1 -run 'Alloc' ./pagepool ./ring ./mac/... ./endpoint

.PHONY: bench
bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s) each
	@sh .ci/fuzz $(or $(FUZZTIME),10s)

.PHONY: lint
lint: ## gofmt, go vet and staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt: run gofmt -w on:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

.PHONY: cross
cross: ## build for every architecture, and the portable packages for darwin and windows
	@for arch in amd64 arm64 arm riscv64; do echo "linux/$$arch"; GOOS=linux GOARCH=$$arch GOARM=7 $(GO) vet ./... || exit 1; done
	@for os in darwin windows; do echo "$$os"; GOOS=$$os GOARCH=arm64 $(GO) build $(PORTABLE) || exit 1; done

.PHONY: integration-linux
integration-linux: ## boot Linux in QEMU: its driver proves the model, then the server runs on it (ARGS=-trace)
	@sh .ci/setup
	@bash .ci/integration-linux $(ARGS)

.PHONY: integration-qemu
integration-qemu: ## boot boards that QEMU emulates, and have the server serve on their own MACs
	@sh .ci/setup
	@bash .ci/integration-qemu $(ARGS)

.PHONY: integration-full
integration-full: ## integration-linux, and what kernel modules have to be built for
	@sh .ci/setup
	@bash .ci/integration-full $(ARGS)
