# Go and make are enough for run, build and test. The other targets fetch the
# tools that tools/go.mod names, each at the version that stands there.

SHELL := /bin/sh
TOOL  := go tool -modfile=tools/go.mod
DATA  ?= ./data
FUZZTIME ?= 10s
# The race detector needs a C compiler. Without one the tests run without it.
CC_FOUND := $(shell command -v "$$(go env CC)" 2>/dev/null)
RACE  := $(if $(CC_FOUND),-race,)

.DEFAULT_GOAL := help
.PHONY: help run build test check lint floors fmt generate generated bench fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## start a daemon with a durable store in ./data (DATA=DIR)
	@./bin/engine serve --data $(DATA) --guide

build: ## build bin/engine
	@go build -trimpath -o bin/engine ./cmd/engine

test: ## run all tests
	@test -n "$(RACE)" || echo "no C compiler found: running without the race detector"
	go test $(RACE) -timeout 35m ./...

check: lint floors generated test ## everything a change must pass

lint: ## gofmt, go vet, staticcheck, buf lint
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './bin/*')); \
	  if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(TOOL) staticcheck ./...
	$(TOOL) buf lint

floors: ## check who imports whom and the other rules of the house
	go test ./house/

fmt: ## format all Go files
	@gofmt -w $$(find . -name '*.go' -not -path './bin/*')

generate: ## generate code from the .proto files, and the example configuration
	$(TOOL) buf generate
	go test ./engine/config -run TestExampleUpToDate -update

generated: ## fail if generated code is not up to date
	@sh tools/generated.sh "$(TOOL) buf generate"

bench: ## measure; prints a table and writes bin/bench.json
	@mkdir -p bin
	go run ./conformance/bench -out bin/bench.json

fuzz: ## fuzz everything that parses bytes, FUZZTIME each (10s)
	@sh tools/fuzz.sh $(FUZZTIME)

clean: ## remove what was built
	rm -rf bin
