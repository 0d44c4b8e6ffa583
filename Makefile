# Each target also works by hand. Only Go is required (e2e: also Node; browser: Node
# and Chromium; race: a C compiler).

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: build test thorough race lint fuzz e2e browser compatibility packages soak faults bench clean

# A static binary without paths of this machine. -funcalign=8 makes it half a megabyte smaller.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -funcalign=8" -o bin/apbridge ./cmd/apbridge

test:
	go test ./...

# All checks, which take about an hour. .ci/run does the ones that every change needs.
thorough:
	./.ci/run thorough

# Race detector for all packages but cmd, whose tests would take hours. SQLite, which is C translated to Go, is not instrumented,
# because the packages that use it most would take three times as long.
race:
	CGO_ENABLED=1 go test -race -gcflags='modernc.org/...=-race=false' ./adapter/... ./config/... ./mapping/... ./proxy/...

lint:
	@unformatted="$$(git ls-files '*.go' | xargs gofmt -l)"; \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

# Runs every fuzz target. make fuzz FUZZ=60 ONLY=mapping/rule runs a few targets for longer.
FUZZ = 20
ONLY =
fuzz:
	./.ci/fuzz $(FUZZ) $(ONLY)

# Tests with real peers on free loopback ports.
e2e:
	./.e2e/run

# Stock clients in headless Chromium. make compatibility also writes their results to
# docs/compatibility.md and GET /info.
browser:
	./.browser/run

compatibility:
	./.browser/run --update

# Builds archives and Linux packages for this platform in dist/, twice, and installs and purges them in a Debian
# root. Needs root, debootstrap and systemd.
packages:
	./.package/run

# Three bridges over their own PostgreSQL server are killed, stopped and disconnected while clients
# work. make soak SOAK=1h runs for longer.
SOAK = 5m
soak:
	APBRIDGE_TEST_POSTGRES=$${APBRIDGE_TEST_POSTGRES:-private} APBRIDGE_TEST_SOAK=$(SOAK) \
		go test ./cmd/apbridge/internal/rig/crash -run '^TestSoak$$' -count=1 -timeout 3h -v

# Writes the tests of docs/faults.md from the results. Entries of kinds that are not run stay unchanged.
# make faults KINDS="ordinary postgres large crash soak" runs all kinds.
KINDS = ordinary
faults:
	folder="$$(mktemp -d)" && ./.ci/suite "$$folder" $(KINDS) && \
		APBRIDGE_TEST_RESULTS="$$folder" go test ./cmd/apbridge -run '^TestFaultTable$$' -count=1 -update && rm -r "$$folder"

# Measures the speed of the bridge, compared with direct calls and a bare proxy, and prints a table. The
# command apbridge bench is unrelated: it judges agents by challenges.
bench:
	APBRIDGE_BENCH=1 go test ./cmd/apbridge/internal/rig/bench -run '^TestBench$$' -count=1 -timeout 30m -v

clean:
	rm -rf bin dist
