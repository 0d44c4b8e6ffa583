package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// benchBinary returns the binary to measure: the file named by APBRIDGE_BENCH_BINARY, or a new build.
func benchBinary(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("APBRIDGE_BENCH_BINARY"); file != "" {
		return file
	}
	return rig.Release(t)
}

// benchSetup holds the settings in which the bridges of the benchmark differ.
type benchSetup struct {
	folder      string // of the bridge's files
	database    string // "": a file in the folder
	synchronous string // "": the default
}

const benchConfig = `
database: %s
default_agent: instant
agents:
  instant: {url: %q, dialect: taskstep, concurrency: 4096}
  paced: {url: %q, dialect: taskstep, concurrency: 4096}
  threads: {url: %q, dialect: threadrun, concurrency: 4096}
  ticks: {url: %q, dialect: taskstep, concurrency: 4096}
  tickthreads: {url: %q, dialect: threadrun, concurrency: 4096}
  tokens: {url: %q, dialect: threadrun, concurrency: 4096}
`

// serve starts a bridge in front of all agents and stops it with the test.
func (b *bench) serve(t *testing.T, binary string, s benchSetup) *rig.Process {
	t.Helper()
	if s.database == "" {
		s.database = filepath.Join(s.folder, "bench.db")
	}
	p := b.peers
	text := fmt.Sprintf(benchConfig, s.database, p.agent, p.paced, p.threads, p.ticks, p.tickThreads, p.tokens)
	if s.synchronous != "" {
		text += "synchronous: " + s.synchronous + "\n"
	}
	return rig.StartProcess(t, binary, s.folder, text)
}

// fresh is serve with a new folder.
func (b *bench) fresh(t *testing.T, binary string) *rig.Process {
	t.Helper()
	return b.serve(t, binary, benchSetup{folder: t.TempDir()})
}
