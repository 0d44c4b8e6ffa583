package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAStartThatFailsLeavesNothing checks that serve listens before it creates the database.
func TestAStartThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	folder := t.TempDir()
	code, _, errs := command(t, nil, "serve", "--agent", "a=http://127.0.0.1:1", "--listen", l.Addr().String(), "--database", filepath.Join(folder, "a.db"))
	if left, err := os.ReadDir(folder); code != 1 || err != nil || len(left) > 0 || !strings.Contains(errs, "address already in use") {
		t.Errorf("exit code %d, left %v, %v: %s", code, left, err, errs)
	}
}

// TestServeNamesTheInspector checks that the log has the inspector's address, and this machine's if it listens on every
// interface.
func TestServeNamesTheInspector(t *testing.T) {
	t.Parallel()
	key := `APBRIDGE_AUTH__KEYS=[{"id":"app","key":"` + testKey + `"}]`
	p := startProgram(t, []string{key}, "serve", "--agent", "a=http://127.0.0.1:1", "--listen", "0.0.0.0:0", "--database", filepath.Join(t.TempDir(), "a.db"))
	at := p.err.Await(t, `"inspector":"([^"]+)"`)
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/inspect$`).MatchString(at) {
		t.Errorf("it names %s", at)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	req.SetBasicAuth("me", testKey)
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", res, err)
	}
}
