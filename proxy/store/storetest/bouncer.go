package storetest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Bouncer starts a PgBouncer for the test in front of the server of dsn (see Schema), with the pool mode session,
// transaction or statement. It returns the URL of the schema of dsn through PgBouncer. It skips the test if PgBouncer
// is not installed.
func Bouncer(t testing.TB, dsn, mode string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("PgBouncer is not installed here")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir, as := openFolder(t), account(t)
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
	if err := os.WriteFile(filepath.Join(dir, "ini"), []byte(bouncerConfig(u, at, mode)), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{filepath.Join(dir, "ini")}
	if as != "" {
		args = append([]string{"-u", as}, args...)
	}
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	awaitListener(t, at)
	return (&url.URL{Scheme: "postgres", User: u.User, Host: at, Path: u.Path, RawQuery: "sslmode=disable"}).String()
}

// openFolder returns a folder that another user may read.
func openFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "apbridge-bouncer-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func bouncerConfig(u *url.URL, at, mode string) string {
	host, port, _ := net.SplitHostPort(at)
	name := strings.TrimPrefix(u.Path, "/")
	upPort := u.Port()
	if upPort == "" {
		upPort = "5432"
	}
	return fmt.Sprintf("[databases]\n%s = host=%s port=%s user=%s connect_query='SET search_path = %s'\n[pgbouncer]\nlisten_addr = %s\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\npool_mode = %s\n",
		name, u.Hostname(), upPort, u.User.Username(), u.Query().Get("search_path"), host, port, mode)
}

func awaitListener(t testing.TB, at string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
