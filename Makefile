# What each target needs is said beside it. `make test` needs Go and nothing else.

GO      ?= go
FUZZ    ?= 20000x
# for targets that open a store each time
FUZZ_SLOW ?= 300x
PKGS    := ./...

.PHONY: build test test-e2e test-race test-all test-native test-portable bench fuzz lint guests verify-guests inputs cross clean

build:            ## bin/mayfly, static
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/mayfly ./cmd/mayfly

test:             ## everything that needs no other program; says what it skips; bin/test.log has it all
	$(GO) vet $(PKGS)
	@mkdir -p bin
	@echo "$(GO) test -v $(PKGS) > bin/test.log"
	@$(GO) test -v $(PKGS) > bin/test.log 2>&1; code=$$?; \
	if [ $$code -ne 0 ]; then cat bin/test.log; fi; \
	grep -aE '^(ok|FAIL|panic:)' bin/test.log; \
	echo "skipped:"; grep -a -A1 -E '^ *--- SKIP' bin/test.log || echo "  nothing"; \
	exit $$code

test-e2e:         ## a real model: needs OPENAI_API_KEY, and takes OPENAI_BASE_URL and OPENAI_MODEL
	$(GO) test -count=1 -v -run TestRealModel ./engine

test-race:        ## the same under the race detector (needs a C compiler)
	$(GO) test -race -short -timeout 20m ./engine/... ./wasm/... ./hostfns/... ./guests/... ./internal/... ./bench/...

test-portable:    ## the fork engine's fallbacks for other systems, on this one
	$(GO) test -tags mayfly_file ./wasm/...
	$(GO) test -tags mayfly_copy ./wasm/...

test-native:      ## examples and CPython's own tests against a native CPython 3.13, see .ci/debian-python
	$(GO) test -count=1 ./examples/python ./internal/cpythontest

test-all: test test-race test-portable test-native

bench:            ## the tables in the README
	$(GO) run ./cmd/mayfly bench startup
	$(GO) run ./cmd/mayfly bench threads
	$(GO) run ./cmd/mayfly bench state
	$(GO) run ./cmd/mayfly bench tools

# A number of runs and no duration: at the end of a duration Go before 1.27 now and then reports "context deadline
# exceeded" as a failure (https://go.dev/issue/75804).
fuzz:             ## every fuzz target FUZZ times
	@for p in $$($(GO) list $(PKGS)); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    case $$f in FuzzImport|FuzzFiles) n=$(FUZZ_SLOW);; *) n=$(FUZZ);; esac; \
	    echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $$n -fuzzminimizetime 10x $$p || exit 1; \
	  done; done

lint:             ## golangci-lint with the import rules of .golangci.yml
	$(GO) vet $(PKGS)
	test -z "$$(gofmt -l .)"
	golangci-lint run

cross:            ## that other systems compile
	CGO_ENABLED=0 GOOS=linux   GOARCH=arm64 $(GO) build -o /dev/null ./cmd/mayfly
	CGO_ENABLED=0 GOOS=darwin  GOARCH=arm64 $(GO) build -o /dev/null ./cmd/mayfly
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/mayfly
	CGO_ENABLED=0 GOOS=darwin  GOARCH=arm64 $(GO) vet ./wasm/... ./engine/...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) vet ./wasm/... ./engine/...

guests:           ## rebuild the CPython artefact (root, mmdebstrap, half an hour)
	guests/python/build/build.sh

verify-guests:    ## rebuild it elsewhere and compare byte for byte with the committed one
	rm -rf bin/verify && mkdir -p bin/verify
	guests/python/build/build.sh --out $(CURDIR)/bin/verify
	cmp bin/verify/python.wasm.zst guests/python/python.wasm.zst
	@echo "the artefact is what the recipe makes"

inputs:           ## that the recorded hash is that of the recipe's files
	$(GO) test -count=1 -run TestProvenance ./guests/python

clean:
	rm -rf bin
