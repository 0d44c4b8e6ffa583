package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/jackc/pgx/v5"
)

// failingBinary is the program built with fail points, once for all tests that
// need it.
var failingBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "apbridge-crash")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "apbridge")
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", path, ".").CombinedOutput()
	return path, joinOutput(err, out)
})

// crashPatience bounds what a scene waits for, on a machine that does much else: a
// process that died with a renewal of its lease under way is waited for until that
// is over, and some seconds more.
const crashPatience = 3 * time.Minute

// doomed is a bridge that dies at a point, and the ones that come after it over
// the same database, at the same address. Safe for concurrent use.
type doomed struct {
	t       *testing.T
	dsn     string
	agent   string
	environ []string
	point   string // NAME#N; "" for none
	spared  int    // lives before the one that is to die
	trace   string // file that points are noted in, "" for none
	files   int    // that a process may have open; 0: as many as the system lets it
	as      setting
	found   func(dsn string) // looks at the record as the death has left it; nil: nothing
	said    *console

	mu    sync.Mutex
	now   *life
	lives int
	died  bool // at the point
}

// life is one process.
type life struct {
	cmd  *exec.Cmd
	said *console
	gone chan struct{} // closed when the process is over
	doom bool          // it was started with the point
	url  string        // once it serves
}

func newDoomed(t *testing.T, dsn string, agent http.Handler, point string, environ ...string) *doomed {
	t.Helper()
	d := &doomed{t: t, dsn: dsn, agent: adaptertest.Serve(t, agent).URL, environ: environ, point: point, said: newConsole()}
	t.Cleanup(func() {
		d.end()
		if t.Failed() {
			t.Logf("the bridges said:\n%s", withoutRequests(d.said.String()))
		}
	})
	return d
}

// begin starts a process. doom: it is to die at the point.
func (d *doomed) begin(doom bool) *life {
	d.t.Helper()
	binary, err := failingBinary()
	if err != nil {
		d.t.Fatal(err)
	}
	l := &life{gone: make(chan struct{}), doom: doom}
	args := []string{binary, "serve", "--listen", "127.0.0.1:0", "--database", d.dsn, "--agent", "agent=" + d.agent}
	if d.files > 0 {
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, d.files)}, args...)
	}
	l.cmd = exec.Command(args[0], args[1:]...)
	l.cmd.Env = append(os.Environ(), "APBRIDGE_SYNCHRONOUS="+cmp.Or(d.as.synchronous, "normal"), "APBRIDGE_SHUTDOWN_GRACE=2s", "APBRIDGE_WEBHOOKS__ALLOW_PRIVATE_NETWORKS=true",
		"APBRIDGE_AGENTS__AGENT__STEP_TIMEOUT=2m", "APBRIDGE_AGENTS__AGENT__RUN_TIMEOUT=5m")
	l.cmd.Env = append(l.cmd.Env, d.environ...)
	if doom && d.point != "" {
		l.cmd.Env = append(l.cmd.Env, "FAILPOINT="+d.point)
	}
	if doom && d.as.cut {
		l.cmd.Env = append(l.cmd.Env, "FAILPOINT_FLUSHED="+d.dsn+"-flushed")
	}
	if doom && d.trace != "" {
		l.cmd.Env = append(l.cmd.Env, "FAILPOINT_TRACE="+d.trace)
	}
	l.said = newConsole()
	l.cmd.Stderr = io.MultiWriter(l.said, d.said)
	if err := l.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() { _ = l.cmd.Wait(); close(l.gone) }()
	return l
}

// serving is a process that answers, the next one where the last is over.
func (d *doomed) serving() *life {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if d.now == nil {
			d.now = d.begin(d.lives == d.spared)
			d.lives++
		}
		if d.now.url != "" || d.await(d.now) {
			return d.now
		}
		if !d.buried() {
			d.t.Errorf("the bridge did not start:\n%s", withoutRequests(d.now.said.String()))
			d.t.FailNow()
		}
	}
}

// await tells whether the process came to serve.
func (d *doomed) await(l *life) bool {
	late := time.After(crashPatience)
	for {
		if m := servingAt.FindStringSubmatch(l.said.String()); m != nil {
			l.url = m[1]
			return true
		}
		select {
		case <-l.said.changed:
		case <-l.gone:
			return false
		case <-late:
			return false
		}
	}
}

var servingAt = regexp.MustCompile(`"msg":"serving","url":"([^"]+)"`)

// buried takes note of a process that is over; false: it did not die as it was
// meant to. The lock is held.
func (d *doomed) buried() bool {
	l := d.now
	select {
	case <-l.gone:
	case <-time.After(crashPatience):
		return false
	}
	status, _ := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !l.doom || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return false
	}
	d.died, d.now = true, nil
	d.lapse()
	if d.found != nil {
		d.found(d.dsn)
	}
	if d.as.cut {
		d.cutPower()
	}
	return true
}

// lapse ends the lease of a process that is dead, which would else be waited for.
func (d *doomed) lapse() {
	if !strings.HasPrefix(d.dsn, "postgres") {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), crashPatience)
	defer stop()
	conn, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "UPDATE processes SET until_us = 0"); err != nil && !strings.Contains(err.Error(), "does not exist") {
		d.t.Error(err)
	}
}

// over is called when a connection broke: it waits for the process that did it.
func (d *doomed) over(l *life) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now != l {
		return // somebody else was here first
	}
	if !d.buried() {
		d.t.Errorf("a connection broke, but not because the process died at %q:\n%s", d.point, withoutRequests(l.said.String()))
		d.t.FailNow()
	}
}

// end stops what runs with SIGTERM, so that the record can be read. What dies at
// the point meanwhile is dead too.
func (d *doomed) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now == nil {
		return
	}
	_ = d.now.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.now.gone:
	case <-time.After(crashPatience):
		_ = d.now.cmd.Process.Kill()
		<-d.now.gone
	}
	status, _ := d.now.cmd.ProcessState.Sys().(syscall.WaitStatus)
	d.died = d.died || status.Signaled() && d.now.doom
	if d.died {
		d.lapse()
	}
	d.now = nil
}

var longClient = &http.Client{Timeout: crashPatience, Transport: &http.Transport{DisableKeepAlives: true}}

// try sends a request; false: the process died before it was answered.
func (d *doomed) try(method, path, body string, headers ...string) (answer, bool) {
	l := d.serving()
	a, err := d.send(l.url+path, method, body, headers...)
	if err != nil {
		d.over(l)
	}
	return a, err == nil
}

func (d *doomed) send(url, method, body string, headers ...string) (answer, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	if strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/") {
		req.ContentLength = -1 // as who sends a file while reading it
	}
	res, err := longClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	a := answer{t: d.t, name: method + " " + url, status: res.StatusCode, header: res.Header}
	a.body, err = io.ReadAll(res.Body)
	return a, err
}

// sure sends a request until it is answered, again and again with the same
// Idempotency-Key where one is given: what a careful client does.
func (d *doomed) sure(method, path, body string, headers ...string) answer {
	d.t.Helper()
	for {
		if a, ok := d.try(method, path, body, headers...); ok {
			return a
		}
	}
}

func (d *doomed) get(path string) answer { d.t.Helper(); return d.sure("GET", path, "").ok() }

// keyed makes something once, however often it is asked for. The id it is given
// must be the same whenever it is asked for again.
func (d *doomed) keyed(path, body, key string) answer {
	d.t.Helper()
	return d.sure("POST", path, body, "Idempotency-Key", key).ok()
}

// either does what has no key: after a death it looks whether that was done, and
// does it where it was not. It may be done or not, but not by halves.
func (d *doomed) either(done func() bool, method, path, body string) {
	d.t.Helper()
	for {
		a, ok := d.try(method, path, body)
		if ok {
			a.ok()
			return
		}
		if done() {
			return
		}
	}
}

// readers follow runs over all lives.
type follower struct {
	frames []frame
	done   chan struct{}
}

// follow reads a run's stream to its end, resuming after the last frame that
// came whenever it breaks.
func (d *doomed) follow(run string) *follower {
	f := &follower{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for !f.read(d, run) {
		}
	}()
	return f
}

// read reads one stream; true: the run has ended and there is nothing more of it.
func (f *follower) read(d *doomed, run string) bool {
	last := "-1"
	if n := len(f.frames); n > 0 {
		last = f.frames[n-1].id
	}
	l := d.serving()
	req, _ := http.NewRequest("GET", l.url+run+"/stream", nil)
	req.Header.Set("Last-Event-ID", last)
	res, err := longClient.Do(req)
	if err != nil {
		d.over(l)
		return false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		d.t.Errorf("resuming %s after %s: %d %s", run, last, res.StatusCode, text)
		return true
	}
	list, err := readFrames(res.Body, 0)
	for _, fr := range list {
		if fr.event != "" || fr.data != "" {
			f.frames = append(f.frames, fr)
		}
	}
	if err != nil {
		d.over(l)
		return false
	}
	if len(list) > 0 {
		return false // look whether there is more after its end
	}
	a, ok := d.try("GET", run, "")
	return ok && a.text("status") != "running" && a.text("status") != "pending"
}

func joinOutput(err error, out []byte) error {
	if err == nil {
		return nil
	}
	return &exec.Error{Name: string(bytes.TrimSpace(out)), Err: err}
}
