package fault

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestBackupOnAFullDisk checks that a copy without enough space fails and leaves no file that takes up space.
func TestBackupOnAFullDisk(t *testing.T) {
	t.Parallel()
	folder := onSmallDisk(t)
	if folder == "" {
		return
	}
	database := filepath.Join(t.TempDir(), "bridge.db")
	p := rig.StartProcess(t, rig.Binary(t), t.TempDir(), "database: '"+database+"'\nagents: {a: {url: 'http://127.0.0.1:1'}}\n")
	for range 8 { // more than SQLite keeps in memory until the end
		res, err := http.Post(p.URL+"/threads", "application/json", strings.NewReader(`{"metadata":{"long":"`+strings.Repeat("x", 500_000)+`"}}`))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		_ = res.Body.Close()
	}
	room := filepath.Join(folder, "room")
	if err := os.WriteFile(room, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, folder)
	if err := os.Remove(room); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(rig.Binary(t), "backup", filepath.Join(folder, "copy"), "--database", database)
	cmd.Env = rig.PlainEnvironment()
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "its disk is full") {
		t.Errorf("%v %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "copy*")); len(left) > 0 {
		t.Errorf("the failed copy left %v", left)
	}
}
