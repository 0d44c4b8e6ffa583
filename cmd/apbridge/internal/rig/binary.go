package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

const program = "github.com/apbridge/apbridge/cmd/apbridge"

// Binary returns the program, built once for all tests of this process. The package's TestMain must be Main.
func Binary(t *testing.T) string { return built(t, plainBinary) }

// Release returns the released form of the program, static and stripped, built once for all tests of this process.
func Release(t *testing.T) string { return built(t, releaseBinary) }

// failing returns the program with fail points.
func failing(t *testing.T) string { return built(t, failingBinary) }

var (
	plainBinary   = sync.OnceValues(func() (string, error) { return build(nil) })
	releaseBinary = sync.OnceValues(func() (string, error) {
		return build([]string{"CGO_ENABLED=0"}, "-trimpath", "-ldflags", "-s -w -funcalign=8")
	})
	failingBinary = sync.OnceValues(func() (string, error) { return build(nil, "-tags", "failpoint") })
)

func built(t *testing.T, make func() (string, error)) string {
	t.Helper()
	binary, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// builds has the folders of the built programs, which Main removes.
var builds struct {
	sync.Mutex
	folders []string
}

// Main is the TestMain of packages that start bridges. It removes the programs and the template of databases after the
// tests.
func Main(m *testing.M) {
	adaptertest.WaitTogether()
	code := m.Run()
	blank.Drop()
	for _, folder := range builds.folders {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// build keeps the environment if possible, because then the packages are already compiled.
func build(environ []string, flags ...string) (string, error) {
	folder, err := os.MkdirTemp("", "apbridge-test")
	if err != nil {
		return "", err
	}
	builds.Lock()
	builds.folders = append(builds.folders, folder)
	builds.Unlock()
	binary := filepath.Join(folder, "apbridge")
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", binary, program)...)
	cmd.Env = append(os.Environ(), environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}
