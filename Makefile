# Everything here also works by hand; nothing needs to be installed but Go
# (e2e: Node too, browser: Node and Chromium, race: a C compiler).

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: build test thorough race lint fuzz e2e browser compatibility packages soak faults bench clean

# The one binary: static, without the machine's paths. Functions that begin at 16 bytes, in place of 32, are
# half a megabyte less.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -funcalign=8" -o bin/apbridge ./cmd/apbridge

test:
	go test ./...

# All checks that there are, for an hour or so; .ci/run does those that every change needs.
thorough:
	./.ci/run thorough

# Where goroutines meet. SQLite, which is C made into Go, is not watched: the packages that use it most took
# three times as long.
race:
	CGO_ENABLED=1 go test -race -gcflags='modernc.org/...=-race=false' ./adapter/... ./proxy/...

lint:
	@unformatted="$$(git ls-files '*.go' | xargs gofmt -l)"; \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...

# Inputs that fail, looked for in every fuzz target; make fuzz FUZZ=60 ONLY=mapping/rule for longer, and in few.
FUZZ = 20
ONLY =
fuzz:
	./.ci/fuzz $(FUZZ) $(ONLY)

# Real peers on free loopback ports.
e2e:
	./.e2e/run

# Stock clients in headless Chromium; make compatibility also writes what they do into
# docs/compatibility.md and GET /info.
browser:
	./.browser/run

compatibility:
	./.browser/run --update

# Archives and Linux packages of this machine's kind in dist/, made twice, installed and purged in a Debian
# root: needs root, debootstrap and systemd.
packages:
	./.package/run

# Three bridges over one PostgreSQL of their own, killed, stopped and cut off from it
# while clients work; make soak SOAK=1h lasts longer.
SOAK = 5m
soak:
	APBRIDGE_TEST_POSTGRES=$${APBRIDGE_TEST_POSTGRES:-private} APBRIDGE_TEST_SOAK=$(SOAK) \
		go test ./cmd/apbridge/internal/rig/crash -run '^TestSoak$$' -count=1 -timeout 3h -v

# Writes the tests of docs/faults.md from what passes. Kinds that are not run keep what stands there;
# make faults KINDS="ordinary postgres large crash soak" runs all of them.
KINDS = ordinary
faults:
	folder="$$(mktemp -d)" && ./.ci/suite "$$folder" $(KINDS) && \
		APBRIDGE_TEST_RESULTS="$$folder" go test ./cmd/apbridge -run '^TestFaultTable$$' -count=1 -update && rm -r "$$folder"

# How fast the bridge is: direct, through a bare proxy, and through the bridge; prints a table. The command
# apbridge bench is another thing: it judges agents by challenges.
bench:
	APBRIDGE_BENCH=1 go test ./cmd/apbridge/internal/rig/bench -run '^TestBench$$' -count=1 -timeout 30m -v

clean:
	rm -rf bin dist
