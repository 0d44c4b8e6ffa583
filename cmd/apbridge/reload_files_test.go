//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReloadOfAFileWithoutAnEnd checks that a pipe in place of a key file is refused without waiting, and that the next
// reload and the end of the bridge work as usual.
func TestReloadOfAFileWithoutAnEnd(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	newAuthority(t).write(folder)
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	text := "agents: {a: {url: 'https://127.0.0.1:1', dialect: taskstep, tls: {cert: " + cert + ", key: " + key + "}}}\n"
	r := startReloaded(t, text)
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(key, 0o600); err != nil {
		t.Skipf("no pipe can be had: %v", err)
	}
	holds(t, r.reload(text, "could not reload"), "agents.a.tls.cert", key+": it is not a regular file")
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	r.reload(text+"limits: {max_json_depth: 7}\n", `"changed":\["limits.max_json_depth"\]`)
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}
