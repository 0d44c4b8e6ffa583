package rig

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/jackc/pgx/v5"
)

// CrashPatience bounds each wait of a scene on a busy machine. After a process died during a renewal of its lease, the
// wait lasts until the lease ends, and some seconds more.
const CrashPatience = 3 * time.Minute

// Killable is a bridge that dies at a fail point, followed by bridges with the same database and address. Safe for
// concurrent use.
type Killable struct {
	T       *testing.T
	Dsn     string
	agent   string
	calls   *atomic.Int64 // open connections of the agent
	environ []string
	Point   string // NAME#N; "" for none
	Spared  int    // processes before the one that is to die
	Trace   string // file for the reached points, or ""
	Files   int    // maximum number of open files; 0 for the system's
	As      Setting
	Found   func(dsn string) // examines the database after the death and before a power cut, when the agent is no longer called; may be nil
	said    *Console

	Mu    sync.Mutex
	Now   *Life
	lives int
	Died  bool // at the point
}

// Life is one process.
type Life struct {
	Cmd  *exec.Cmd
	Said *Console
	Gone chan struct{} // closed when the process has ended
	doom bool          // it was started with the fail point
	URL  string        // set once it serves
}

// Stopping reports whether the process is stopping or has ended.
func (l *Life) Stopping() bool {
	select {
	case <-l.Gone:
		return true
	default:
		return Says(l.Said.String(), `"msg":"shutting down`)
	}
}

// NewKillable returns a Killable whose process dies at point (NAME#N). The first request starts a process.
func NewKillable(t *testing.T, dsn string, agent http.Handler, point string, environ ...string) *Killable {
	t.Helper()
	d := &Killable{T: t, Dsn: dsn, environ: environ, Point: point, said: NewConsole()}
	d.agent, d.calls = serveCounted(t, agent)
	t.Cleanup(func() {
		d.End()
		if t.Failed() {
			t.Logf("log of the bridges:\n%s", WithoutRequests(d.said.String()))
		}
	})
	return d
}

// serveCounted starts an agent, and counts its connections. Those of a dead process are closed after everything from
// them was read and handled.
func serveCounted(t *testing.T, agent http.Handler) (url string, open *atomic.Int64) {
	srv, open := httptest.NewUnstartedServer(agent), new(atomic.Int64)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL, open
}

// Configure adds variables for all processes that are started from now on.
func (d *Killable) Configure(environ ...string) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.environ = append(d.environ[:len(d.environ):len(d.environ)], environ...)
}

// begin starts a process. With doom, it is to die at the fail point.
func (d *Killable) begin(doom bool) *Life {
	d.T.Helper()
	binary := failing(d.T)
	l := &Life{Gone: make(chan struct{}), doom: doom}
	args := []string{binary, "serve", "--listen", "127.0.0.1:0", "--database", d.Dsn, "--agent", "agent=" + d.agent}
	if d.Files > 0 {
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, d.Files)}, args...)
	}
	l.Cmd = exec.Command(args[0], args[1:]...)
	l.Cmd.Env = append(os.Environ(), "APBRIDGE_SYNCHRONOUS="+cmp.Or(d.As.Synchronous, storetest.Synchronous()), "APBRIDGE_SHUTDOWN_GRACE=2s", "APBRIDGE_WEBHOOKS__ALLOW_PRIVATE_NETWORKS=true",
		"APBRIDGE_AGENTS__AGENT__STEP_TIMEOUT=2m", "APBRIDGE_AGENTS__AGENT__RUN_TIMEOUT=5m")
	l.Cmd.Env = append(l.Cmd.Env, d.environ...)
	if doom && d.Point != "" {
		l.Cmd.Env = append(l.Cmd.Env, "FAILPOINT="+d.Point)
	}
	if doom && d.As.Cut {
		l.Cmd.Env = append(l.Cmd.Env, "FAILPOINT_FLUSHED="+d.Dsn+"-flushed")
	}
	if doom && d.Trace != "" {
		l.Cmd.Env = append(l.Cmd.Env, "FAILPOINT_TRACE="+d.Trace)
	}
	l.Said = NewConsole()
	l.Cmd.Stderr = io.MultiWriter(l.Said, d.said)
	if err := l.Cmd.Start(); err != nil {
		d.T.Fatal(err)
	}
	go func() { _ = l.Cmd.Wait(); close(l.Gone) }()
	return l
}

// Serving returns a process that answers. It starts the next one if the last has ended.
func (d *Killable) Serving() *Life {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	for {
		if d.Now == nil {
			d.Now = d.begin(d.lives == d.Spared)
			d.lives++
		}
		if d.Now.URL != "" || d.await(d.Now) {
			return d.Now
		}
		if !d.buried() {
			d.T.Errorf("the bridge did not start:\n%s", WithoutRequests(d.Now.Said.String()))
			d.T.FailNow()
		}
	}
}

// await reports whether the process serves.
func (d *Killable) await(l *Life) bool {
	late := time.After(CrashPatience)
	for {
		if m := servingAt.FindStringSubmatch(l.Said.String()); m != nil {
			l.URL = m[1]
			return true
		}
		select {
		case <-l.Said.changed:
		case <-l.Gone:
			return false
		case <-late:
			return false
		}
	}
}

var servingAt = regexp.MustCompile(`"msg":"serving","url":"([^"]+)"`)

// buried records a process that has ended. It returns false if it did not die at its fail point. d.mu must be held.
func (d *Killable) buried() bool {
	l := d.Now
	select {
	case <-l.Gone:
	case <-time.After(CrashPatience):
		return false
	}
	if !l.killed() {
		return false
	}
	d.bury()
	return true
}

// killed reports whether an ended process died at its fail point.
func (l *Life) killed() bool {
	status, _ := l.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	return l.doom && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// bury does the work that is due after a death at the fail point. d.mu must be held.
func (d *Killable) bury() {
	d.Died, d.Now = true, nil
	if d.Found != nil {
		Within(d.T, CrashPatience, "the agent has finished its requests", func() bool { return d.calls.Load() == 0 })
		d.Found(d.Dsn)
	}
	d.Lapse()
	if d.As.Cut {
		d.cutPower()
	}
}

// Lapse ends the lease of a dead process, to avoid waiting for it.
func (d *Killable) Lapse() {
	if !strings.HasPrefix(d.Dsn, "postgres") {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), CrashPatience)
	defer stop()
	conn, err := pgx.Connect(ctx, d.Dsn)
	if err != nil {
		d.T.Error(err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "UPDATE processes SET until_us = 0"); err != nil && !strings.Contains(err.Error(), "does not exist") {
		d.T.Error(err)
	}
}

// over is called after a connection has broken. It waits for the end of that process.
func (d *Killable) over(l *Life) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Now != l {
		return // another caller was here first
	}
	if !d.buried() {
		d.T.Errorf("a connection broke, but not because the process died at %q:\n%s", d.Point, WithoutRequests(l.Said.String()))
		d.T.FailNow()
	}
}

// End stops the current process with SIGTERM, so that the database can be read. A process that dies at the fail point
// while stopping counts as dead.
func (d *Killable) End() { d.EndAfter(func(*Life) {}) }

// EndAfter is End with a function that is called after the signal and before the wait.
func (d *Killable) EndAfter(do func(*Life)) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Now == nil {
		return
	}
	_ = d.Now.Cmd.Process.Signal(syscall.SIGTERM)
	do(d.Now)
	select {
	case <-d.Now.Gone:
	case <-time.After(CrashPatience):
		d.T.Errorf("the bridge did not stop:\n%s", WithoutRequests(d.Now.Said.String()))
		_ = d.Now.Cmd.Process.Kill()
		<-d.Now.Gone
		d.Now = nil
		return
	}
	if d.Now.killed() {
		d.bury()
	}
	d.Now = nil
}

var longClient = &http.Client{Timeout: CrashPatience, Transport: &http.Transport{DisableKeepAlives: true}}

// Try sends a request. It returns false if the process died before the answer.
func (d *Killable) Try(method, path, body string, headers ...string) (Answer, bool) {
	l := d.Serving()
	a, err := d.Send(l.URL+path, method, body, headers...)
	if err != nil {
		d.over(l)
	}
	return a, err == nil
}

// Send sends one request to a process. It returns an error without an answer.
func (d *Killable) Send(url, method, body string, headers ...string) (Answer, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	if strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/") {
		req.ContentLength = -1 // like a file that is sent while it is read
	}
	res, err := longClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	a := Answer{T: d.T, Name: method + " " + url, Status: res.StatusCode, Header: res.Header}
	a.Body, err = io.ReadAll(res.Body)
	return a, err
}

// Sure repeats a request until it is answered, with the same Idempotency-Key if there is one, like a careful client.
func (d *Killable) Sure(method, path, body string, headers ...string) Answer {
	d.T.Helper()
	for {
		if a, ok := d.Try(method, path, body, headers...); ok {
			return a
		}
	}
}

// Get is Sure with GET, for a path that must exist.
func (d *Killable) Get(path string) Answer { d.T.Helper(); return d.Sure("GET", path, "").OK() }

// Keyed creates an object once: every request for it has the same Idempotency-Key.
func (d *Killable) Keyed(path, body, key string) Answer {
	d.T.Helper()
	return d.Sure("POST", path, body, "Idempotency-Key", key).OK()
}

// Either sends a request without a key. After a death it checks whether the request was executed, and repeats it if
// not. The request must not be executed partially.
func (d *Killable) Either(done func() bool, method, path, body string) {
	d.T.Helper()
	for {
		a, ok := d.Try(method, path, body)
		if ok {
			a.OK()
			return
		}
		if done() {
			return
		}
	}
}

// follower reads the stream of a run across all processes of the bridge.
type follower struct {
	Frames []Frame
	Done   chan struct{}
}

// Follow reads a run's stream to its end. It resumes a broken stream after the last frame.
func (d *Killable) Follow(run string) *follower {
	f := &follower{Done: make(chan struct{})}
	go func() {
		defer close(f.Done)
		for !f.read(d, run) {
		}
	}()
	return f
}

// read reads one stream. It returns true if the run has ended and the stream is complete.
func (f *follower) read(d *Killable, run string) bool {
	last := "-1"
	if n := len(f.Frames); n > 0 {
		last = f.Frames[n-1].ID
	}
	l := d.Serving()
	req, _ := http.NewRequest("GET", l.URL+run+"/stream", nil)
	req.Header.Set("Last-Event-ID", last)
	res, err := longClient.Do(req)
	if err != nil {
		d.over(l)
		return false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		d.T.Errorf("resuming %s after %s: %d %s", run, last, res.StatusCode, text)
		return true
	}
	list, err := ReadFrames(res.Body, 0)
	for _, fr := range list {
		if fr.Event != "" || fr.Data != "" {
			f.Frames = append(f.Frames, fr)
		}
	}
	if err != nil {
		d.over(l)
		return false
	}
	if len(list) > 0 {
		return false // check whether more follows its end
	}
	a, ok := d.Try("GET", run, "")
	return ok && a.Text("status") != "running" && a.Text("status") != "pending"
}

// CrashThread is a thread with a fixed id.
const CrashThread = "/threads/11111111-2222-4333-8444-555555555555"
