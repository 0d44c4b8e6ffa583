package storetest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a private PostgreSQL server for a test, which the test may crash. It listens on a free port of 127.0.0.1,
// keeps its data and its socket in a temporary folder, and is stopped and removed at the end of the test. Its methods
// fail the test on errors and must be called from the test's goroutine.
type Cluster struct {
	t    testing.TB
	bin  string // folder of the server's programs
	dir  string // data and socket
	as   string // user that runs the server; "" for the current one
	port int
}

// Private starts a server for the test with some settings, each as "name=value", in addition to the defaults of its
// version. fsync is off, because no test simulates a power failure. It skips the test if Variable is not set, like
// every test with PostgreSQL, or if the server's programs are not installed.
func Private(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	if os.Getenv(Variable) == "" {
		t.Skip(unset)
	}
	c := &Cluster{t: t, bin: programs(t), as: account(t), port: freePort(t)}
	c.folder()
	t.Cleanup(c.remove)
	c.run(c.program("initdb", "-D", c.data(), "-U", "test", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"))
	c.configure(append([]string{"listen_addresses='127.0.0.1'", "port=" + strconv.Itoa(c.port), "unix_socket_directories='" + c.dir + "'",
		"fsync=off", "max_connections=200", "log_min_messages=fatal"}, settings...))
	c.Start()
	c.Exec("CREATE DATABASE test")
	return c
}

// programs returns the folder of initdb and pg_ctl: that of pg_config, else the newest in Debian's location, else that
// in PATH.
func programs(t testing.TB) string {
	t.Helper()
	var folders []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(versions, func(a, b string) int { return versionOf(b) - versionOf(a) })
	folders = append(folders, versions...)
	if path, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	t.Skip("PostgreSQL's server programs (initdb, pg_ctl) are not installed here: neither pg_config --bindir, /usr/lib/postgresql nor PATH has them")
	return ""
}

func versionOf(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return n
}

// account returns the user to run the server as, since it refuses to run as root.
func account(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return ""
	}
	if _, err := user.Lookup("postgres"); err != nil {
		t.Skip("PostgreSQL does not run as root, and there is no user postgres here")
	}
	if _, err := exec.LookPath("runuser"); err != nil {
		t.Skip("PostgreSQL does not run as root, and there is no runuser here")
	}
	return "postgres"
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// folder creates the folder. Its path must be short, since the path of a socket has at most 107 bytes. t.TempDir cannot
// be used, because another user could not enter it.
func (c *Cluster) folder() {
	c.t.Helper()
	dir, err := os.MkdirTemp("", "apbridge-pg-")
	if err != nil {
		c.t.Fatal(err)
	}
	c.dir = dir
	if c.as == "" {
		return
	}
	u, err := user.Lookup(c.as)
	if err != nil {
		c.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) program(name string, args ...string) *exec.Cmd {
	name = filepath.Join(c.bin, name)
	if c.as != "" {
		name, args = "runuser", append([]string{"-u", c.as, "--", name}, args...)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	return cmd
}

// run writes the output to a file. A pipe would not end before the server does, which inherits it.
func (c *Cluster) run(cmd *exec.Cmd) {
	c.t.Helper()
	if err := c.try(cmd); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) try(cmd *exec.Cmd) error {
	out, err := os.CreateTemp("", "apbridge-pg-out-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w\n%s", cmd, err, said)
	}
	return nil
}

func (c *Cluster) configure(settings []string) {
	c.t.Helper()
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("\n" + strings.Join(settings, "\n") + "\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) remove() {
	if err := c.ctl("stop", "-m", "immediate"); err != nil && c.running() {
		c.t.Error(err)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		c.t.Error(err)
	}
}

func (c *Cluster) ctl(args ...string) error {
	return c.try(c.program("pg_ctl", append([]string{"-D", c.data(), "-w", "-t", "60", "-l", filepath.Join(c.dir, "log")}, args...)...))
}

func (c *Cluster) running() bool { return c.try(c.program("pg_ctl", "-D", c.data(), "status")) == nil }

// Start starts the stopped server and returns when it accepts connections.
func (c *Cluster) Start() {
	c.t.Helper()
	if err := c.ctl("start"); err != nil {
		said, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		c.t.Fatalf("%v\n%s", err, said)
	}
}

// Crash stops the server at once, like pg_ctl -m immediate. Everything that it has not written to its log on disk is
// lost.
func (c *Cluster) Crash() {
	c.t.Helper()
	if err := c.ctl("stop", "-m", "immediate"); err != nil {
		c.t.Fatal(err)
	}
}

// Kill kills the server's main process with SIGKILL and waits until its other processes have ended.
func (c *Cluster) Kill() {
	c.t.Helper()
	pid := c.postmaster()
	group := c.processes(pid)
	c.sigkill(pid)
	c.await("the server's processes end", func() bool { return !slices.ContainsFunc(append(group, pid), alive) })
	// The next start would mistake the dead process for a live one, since its parent has not reaped it yet.
	for _, lock := range []string{filepath.Join(c.data(), "postmaster.pid"), filepath.Join(c.dir, fmt.Sprintf(".s.PGSQL.%d.lock", c.port))} {
		if err := os.Remove(lock); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *Cluster) sigkill(pid int) {
	c.t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// KillBackend kills the process that serves one connection with SIGKILL, like a machine out of memory. The server then
// ends all connections and recovers without a restart. KillBackend returns when that is done.
func (c *Cluster) KillBackend(pid uint32) {
	c.t.Helper()
	c.sigkill(int(pid))
	c.await("the server recovers", func() bool { return !alive(int(pid)) && c.execute("SELECT 1") == nil })
}

// Backend returns a process that serves some connection to the database test.
func (c *Cluster) Backend() (pid uint32) {
	c.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, `SELECT pid FROM pg_stat_activity WHERE datname = 'test' AND pid <> pg_backend_pid() LIMIT 1`).Scan(&pid); err != nil {
		c.t.Fatal(err)
	}
	return pid
}

func (c *Cluster) postmaster() int {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		c.t.Fatal(err)
	}
	return pid
}

// processes returns the children of a process.
func (c *Cluster) processes(of int) (list []int) {
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, f := range found {
		pid, _ := strconv.Atoi(filepath.Base(f))
		if _, parent := standing(pid); parent == of {
			list = append(list, pid)
		}
	}
	return list
}

// alive returns false for a dead process that has not been reaped yet.
func alive(pid int) bool {
	state, _ := standing(pid)
	return state != "" && state != "Z"
}

// standing returns a process's state and parent. The state is "" if there is no such process.
func standing(pid int) (state string, parent int) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

func (c *Cluster) await(what string, done func() bool) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatal("timed out waiting until " + what)
		}
	}
}

// URL returns the URL of the server's database test, as its superuser.
func (c *Cluster) URL() string {
	u := url.URL{Scheme: "postgres", User: url.User("test"), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path: "/test", RawQuery: "sslmode=disable"}
	return u.String()
}

// Exec runs each statement separately.
func (c *Cluster) Exec(statements ...string) {
	c.t.Helper()
	if err := c.execute(statements...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) execute(statements ...string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	at := c.URL()
	if len(statements) > 0 && strings.HasPrefix(statements[0], "CREATE DATABASE") {
		at = strings.Replace(at, "/test?", "/postgres?", 1)
	}
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, text := range statements {
		if _, err := conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
