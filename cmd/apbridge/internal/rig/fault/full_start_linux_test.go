package fault

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// smallDisk names the environment variable with the folder of the small disk. It is set in the process that a test
// starts.
const smallDisk = "APBRIDGE_TEST_SMALL_DISK"

// onSmallDisk runs the calling test again in a process with its own file system of a few megabytes, and returns the
// folder there. In the first process it returns "". The test is skipped if this user may not create such a process.
func onSmallDisk(t *testing.T) (folder string) {
	t.Helper()
	if folder = os.Getenv(smallDisk); folder != "" {
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"); err != nil {
			t.Skipf("cannot mount: %v", err)
		}
		return folder
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, Unshareflags: syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if started := (*exec.ExitError)(nil); err != nil && !errors.As(err, &started) || strings.Contains(string(out), "--- SKIP") {
		t.Skipf("this user may not mount a file system in a user namespace: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return ""
}

// fill fills a disk and returns a function that frees the space.
func fill(t *testing.T, folder string) (empty func()) {
	t.Helper()
	file := filepath.Join(folder, "filler")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return func() {
		if err := errors.Join(f.Close(), os.Remove(file)); err != nil {
			t.Error(err)
		}
	}
}

// TestStartOnAFullDisk checks that the bridge starts on a full disk after a crash. Reads work, writes are refused,
// readiness reports it, and interrupted work continues once there is space.
func TestStartOnAFullDisk(t *testing.T) {
	storetest.File(t)
	folder := onSmallDisk(t)
	if folder == "" {
		return
	}
	g := rig.NewGate(adaptertest.NewStepAgent(adaptertest.Plain), rig.StepPosts, 2)
	cfg := rig.ConfigFor(t, rig.AgentsAt(adaptertest.Serve(t, g).URL))
	cfg.Synchronous, cfg.Database = "full", filepath.Join(folder, "before.db")
	b := rig.StartBridge(t, cfg)
	at := b.Thread()
	run := b.Begin(at, "")
	g.Await(t)
	// The item is in the write-ahead log, but the file has no space for it.
	b.Do("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"text":"`+strings.Repeat("long ", 100_000)+`"}}`).OK()
	crashed := filepath.Join(folder, "crashed.db")
	for _, end := range []string{"", "-wal", "-shm", "-lock"} { // what a crash would leave
		copyFile(t, cfg.Database+end, crashed+end)
	}
	g.Open()
	b.End()

	empty := fill(t, folder)
	if app, err := bridge.New(t.Context(), cfg, bridge.Dialects(), zap.NewNop()); err == nil || !rig.Says(err.Error(), "no room", cfg.Database) { // for SQLite's files next to it
		if err == nil {
			_ = app.Close()
		}
		t.Errorf("a file without its log: %v", err)
	}
	after := *cfg
	after.Database = crashed
	b = rig.StartBridge(t, &after)
	b.Get("/readyz").Is(http.StatusServiceUnavailable)
	if a := b.Get("/readyz"); !rig.Says(string(a.Body), "disk is full") {
		t.Errorf("readiness: %s", a.Body)
	}
	b.Expect(run, "status", "running")
	b.Get(at + "/state").OK()
	b.Get("/store/items?namespace=n&key=k").OK()
	b.Post("/threads", `{}`).Is(http.StatusInsufficientStorage)
	empty()
	rig.Eventually(t, "the bridge is ready", func() bool { return b.Get("/readyz").Status == http.StatusOK })
	b.Get(run + "/join").OK()
	b.Expect(run, "status", "success")
	b.Expect(at, "status", "idle")
	b.Thread()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}
