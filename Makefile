# The project's commands; make alone lists them.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FOR = 30m
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: help build run test unit e2e conformance image-test clients bench soak lint vulncheck fuzz generate deps docker clean

help: ## list the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

build: ## the static program, bin/mcphub
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/mcphub ./cmd/mcphub

run: ## build and run the hub in front of real example servers
	@scripts/run

test: ## everything CI does; ends with how many tests passed and failed
	@scripts/tools
	@$(MAKE) --no-print-directory lint vulncheck image-test
	@scripts/test unit allocs e2e

unit: ## the tests of the packages, with the race detector and without
	@scripts/test unit allocs

e2e: ## real clients and servers, signals and conformance suites against the built program
	@scripts/test e2e

conformance: deps ## the official suites, directly and through the hub, as server and as client, and the tables of their scenarios
	go test -race -count=1 ./e2e/conformance -args -table $(CURDIR)/bin/conformance.txt; \
		status=$$?; cat bin/conformance.txt; exit $$status
	go test -race -count=1 ./e2e/clientmode -args -table $(CURDIR)/bin/clientmode.txt; \
		status=$$?; cat bin/clientmode.txt; exit $$status

image-test: ## build the image with buildah and check that it runs, as root
	scripts/image-test

clients: ## Claude Code and opencode list the running hub; big downloads, not in CI
	scripts/clients

bench: build ## the hub beside the servers themselves and a reverse proxy, into docs/performance.md
	go run ./bench all -hub bin/mcphub -out docs/performance.md

soak: build ## half an hour of clients that come and go and servers that die, not in CI; FOR=90s is shorter
	go run ./soak -hub bin/mcphub -for $(FOR)

lint: ## gofmt, vet and staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	go vet ./...
	$(STATICCHECK) ./...

vulncheck: ## known vulnerabilities of what the program is built from, where their database is reached
	@scripts/vulncheck $(GOVULNCHECK)

fuzz: ## a minute of every fuzz test
	@scripts/fuzz 60s

generate: ## what is made from the code: the schema and the tables of README.md
	go generate ./...

deps: ## install the npm packages that the end-to-end tests use
	@e2e/npm/install servers clients vendors

docker: ## the image, with whatever builds images here
	docker build --build-arg VERSION=$(VERSION) -t mcphub .

clean: ## remove what the commands above left in this folder
	rm -rf bin .cache
