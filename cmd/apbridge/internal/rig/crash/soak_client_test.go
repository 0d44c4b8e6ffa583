//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// soakClient uses the bridges like a careful client. Each POST has an Idempotency-Key and is repeated at any bridge
// until it is acknowledged. A broken stream is resumed after its last id with any bridge.
type soakClient struct {
	history *history
	bridges []string
	n       int
	count   int
}

const (
	soakPatience = 4 * time.Second // for one answer: a stopped bridge gives none
	soakInsists  = 2 * time.Minute // until an operation is given up
)

// work continues until ctx ends. Requests that have begun by then are acknowledged or abandoned.
func (c *soakClient) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.count++
		if c.count%3 == 0 {
			c.task(ctx)
		} else {
			c.thread(ctx)
		}
	}
}

func (c *soakClient) words() string { return fmt.Sprintf("canary-%d-%d", c.n, rand.IntN(1<<40)) }

// thread creates a thread with two runs, the second of which waits for the first, and follows both.
func (c *soakClient) thread(ctx context.Context) {
	made, ok := c.insist(ctx, "POST", "/threads", `{}`)
	if !ok {
		return
	}
	thread, _ := made["thread_id"].(string)
	var runs []*soakRun
	for range 2 {
		r := &soakRun{thread: thread, words: c.words()}
		made, ok := c.insist(ctx, "POST", "/threads/"+thread+"/runs",
			`{"assistant_id":"agent","multitask_strategy":"enqueue","stream_mode":["updates","values"],"input":{"messages":[{"role":"user","content":"`+r.words+`"}]}}`)
		if !ok {
			return
		}
		r.id, _ = made["run_id"].(string)
		c.history.addRun(r)
		runs = append(runs, r)
	}
	for _, r := range runs {
		c.follow(ctx, r)
	}
}

// follow reads a run's stream to its end, across breaks.
func (c *soakClient) follow(ctx context.Context, r *soakRun) {
	for ctx.Err() == nil {
		last := "-1"
		if len(r.seen) > 0 {
			last = r.seen[len(r.seen)-1].ID
		}
		frames, closed := c.stream(ctx, r, last)
		r.seen = append(r.seen, frames...)
		if !closed {
			continue
		}
		run, status := c.ask(ctx, "GET", "/threads/"+r.thread+"/runs/"+r.id, "", "")
		if status != http.StatusOK {
			continue
		}
		now, _ := run["status"].(string)
		if r.statuses = append(r.statuses, now); final(now) {
			return
		}
		pause(ctx, 50*time.Millisecond) // the bridge is stopping and has ended its streams
	}
}

// stream reads the events after an id from some bridge and reports whether the stream was closed rather than broken.
func (c *soakClient) stream(ctx context.Context, r *soakRun, after string) ([]rig.Frame, bool) {
	req, err := http.NewRequestWithContext(ctx, "GET", c.some()+"/threads/"+r.thread+"/runs/"+r.id+"/stream", nil)
	if err != nil {
		return nil, false
	}
	req.Header.Set("Last-Event-ID", after)
	res, err := soakHTTP.Do(req)
	if err != nil {
		return nil, false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		c.history.refused(soakRefusal{"GET stream", res.StatusCode, res.Header, string(body)})
		pause(ctx, 100*time.Millisecond)
		return nil, false
	}
	// A stopped bridge leaves its streams open and silent.
	silence := time.AfterFunc(soakPatience, func() { res.Body.Close() })
	defer silence.Stop()
	frames, err := rig.ReadFrames(&pulse{res.Body, silence}, 0)
	return resumable(frames), err == nil
}

// resumable removes frames without an id, since a stream cannot be resumed after them.
func resumable(list []rig.Frame) []rig.Frame {
	kept := list[:0]
	for _, f := range list {
		if f.ID != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// pulse resets a timer with each read.
type pulse struct {
	io.Reader
	timer *time.Timer
}

func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if n > 0 {
		p.timer.Reset(soakPatience)
	}
	return n, err
}

// task creates a v1 task and requests its steps, each from some bridge.
func (c *soakClient) task(ctx context.Context) {
	k := &soakTask{words: c.words()}
	made, ok := c.insist(ctx, "POST", "/ap/v1/agent/tasks", `{"input":"`+k.words+`"}`)
	if !ok {
		return
	}
	k.id, _ = made["task_id"].(string)
	c.history.addTask(k)
	for range 3 * tallySteps {
		step, ok := c.insist(ctx, "POST", "/ap/v1/agent/tasks/"+k.id+"/steps", "")
		if !ok {
			return
		}
		id, _ := step["step_id"].(string)
		k.given = append(k.given, id)
		if last, _ := step["is_last"].(bool); last {
			more, _ := step["additional_output"].(map[string]any)
			k.over, k.failed = true, more["error"] != nil
			return
		}
	}
	c.history.gaveUp("task %s has no last step: %q", k.id, k.given)
}

// insist sends a POST until it is acknowledged, under one Idempotency-Key. It ends early with ctx. A permanent refusal
// is a fault.
func (c *soakClient) insist(ctx context.Context, method, path, body string) (map[string]any, bool) {
	key := fmt.Sprintf("key-%d-%d", c.n, rand.Int64())
	end := time.Now().Add(soakInsists)
	for ctx.Err() == nil {
		answer, status := c.ask(ctx, method, path, body, key)
		switch {
		case status == http.StatusOK:
			return answer, true
		case status == 0, status == http.StatusTooManyRequests, status == http.StatusConflict, status >= 500:
		default:
			c.history.gaveUp("%s %s was refused with %d: %v", method, path, status, answer)
			return nil, false
		}
		if time.Now().After(end) {
			c.history.gaveUp("%s %s was not acknowledged in %v; at last %d: %v", method, path, soakInsists, status, answer)
			return nil, false
		}
		pause(ctx, time.Duration(50+rand.IntN(200))*time.Millisecond)
	}
	return nil, false
}

var soakHTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func (c *soakClient) some() string { return c.bridges[rand.IntN(len(c.bridges))] }

// ask sends one request to some bridge. The status is 0 if there was no response.
func (c *soakClient) ask(ctx context.Context, method, path, body, key string) (map[string]any, int) {
	ctx, stop := context.WithTimeout(ctx, soakPatience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, c.some()+path, strings.NewReader(body))
	if err != nil {
		return nil, 0
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := soakHTTP.Do(req)
	if err != nil {
		return nil, 0
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, 0
	}
	if res.StatusCode != http.StatusOK {
		c.history.refused(soakRefusal{method + " " + path, res.StatusCode, res.Header, string(text)})
	}
	answer := map[string]any{}
	_ = json.Unmarshal(text, &answer)
	return answer, res.StatusCode
}
