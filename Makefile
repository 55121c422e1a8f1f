# Holdfast. `make help` lists what can be made.
PORT ?= 8080
FUZZTIME ?= 2000x
export CGO_ENABLED ?= 1

.PHONY: synth deploy admitted infra-test local-up local-deploy local-test local-down
.PHONY: console web-test screenshots
.PHONY: live-test help run build test check fmt vet lint deps unit e2e lambda-test fuzz setup bench proof bundle

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

run: build ## build and start the gateway on http://127.0.0.1:$(PORT), with the demo where nothing is configured
	@exec bin/holdfast -addr 127.0.0.1:$(PORT)

build: console ## build bin/holdfast, with the console in it
	@mkdir -p bin
	@go build -o bin/holdfast ./functions/local

# The console's front end is built where something that it is made of is newer.
web = functions/console/web
web_sources = $(shell find $(web)/src $(web)/public -type f) $(addprefix $(web)/,index.html package.json package-lock.json tsconfig.json vite.config.ts)

console: $(web)/dist/index.html ## build the console's front end, where it is stale

$(web)/dist/index.html: $(web_sources)
	@scripts/setup $(web)
	@cd $(web) && node_modules/.bin/vite build --logLevel warn
	@touch $@

web-test: setup ## the front end's types and component tests
	@cd $(web) && node_modules/.bin/tsc && node_modules/.bin/vitest run

screenshots: setup build ## every page in both themes at 1280 and 390 pixels, into dist/screenshots
	@go run ./scripts/screenshots

test: check setup console web-test unit infra-test fuzz e2e lambda-test ## everything CI runs

check: fmt vet lint deps ## formatting, vet, staticcheck, import rules

fmt:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:"; echo "$$out"; exit 1; }

vet:
	@go vet ./...

lint:
	@go tool staticcheck ./...

deps:
	@go run ./scripts/depcheck

setup: ## install what the tests need (npm packages)
	@scripts/setup

# What shares one DynamoDB wire with processes of its own runs alone: a machine
# that is busy with other tests would miss the store's deadlines.
alone = holdfast/affinity/store/dynamo holdfast/localstack/e2e

# The end-to-end tests wait more than they work: more of them at once than there
# are cores. The commands that they start are no input that go test knows of:
# an earlier result says nothing.
e2e_flags = -count 1 -timeout 25m -parallel 4

# A hundred thousand events need no race detector, which takes minutes over them.
many = TestHundredThousand

unit:
	go test -race -timeout 20m -skip '^$(many)$$' $$(go list ./... | grep -vFx $(addprefix -e ,$(alone)))
	go test -timeout 20m -run '^$(many)$$' holdfast/functions/internal/ledger
	go test -race -timeout 20m holdfast/affinity/store/dynamo

e2e: setup console ## the end-to-end suite, on every store
	go test $(e2e_flags) holdfast/localstack/e2e

lambda-test: setup console ## the end-to-end suite once more, every gateway as the bootstrap that is deployed
	HOLDFAST_E2E_RIG=lambda go test $(e2e_flags) holdfast/localstack/e2e

fuzz: ## every fuzz target for some thousand inputs, or as long as FUZZTIME says
	@scripts/fuzz $(FUZZTIME)

bench: ## the benchmarks, beside a bare reverse proxy in the same run; BENCH=-quick for a look
	@mkdir -p dist
	@go run ./scripts/bench -json dist/bench.json $(BENCH)
	@go test -run xxx -bench . -benchmem ./affinity/identity ./functions/internal/wire/... ./affinity ./routing ./functions/internal/app

live-test: ## two turns with each real provider whose key is in the environment: cached tokens as it reports them; costs money, asks first; ARGS="-yes"
	@go run ./scripts/livetest $(ARGS)

proof: ## the same 20 conversations with affinity on, off and round robin: cache hits and cost
	@go run ./scripts/proof

bundle: console ## the archives that are deployed, into dist: arm64, reproducible
	@go run ./scripts/bundle

synth: bundle ## the CloudFormation templates, into infra/cdk.out; settings as CONTEXT="-c reserved=0"
	@scripts/synth $(CONTEXT)

deploy: admitted synth ## deploy to the AWS account of the environment; refuses a document with secrets in it
	@scripts/deploy stack

admitted:
	@scripts/deploy check

infra-test: ## the stack's assertions and cdk-nag
	@go vet -tags cdk ./infra/...
	@go tool staticcheck -tags cdk ./infra/...
	JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 go test -tags cdk -timeout 10m ./infra/...

local-up: ## start LocalStack, with a simulated provider (needs Docker)
	@scripts/local up

local-deploy: ## deploy to LocalStack and seed a document
	@scripts/local deploy

local-test: ## the DynamoDB and end-to-end suites on LocalStack, then the smoke test
	@scripts/local test

local-down: ## stop LocalStack and forget what it held
	@scripts/local down
