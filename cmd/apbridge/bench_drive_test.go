package main_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// benchRun is one unit of work for one client. first is how long the first
// event took, for work that streams.
type benchRun func(ctx context.Context, c *http.Client) (first time.Duration, err error)

// benchSample is what one round of one way of working measured.
type benchSample struct {
	runs    int
	failed  int
	lastErr error
	elapsed time.Duration
	took    []time.Duration // sorted
	first   []time.Duration // sorted
}

func (s benchSample) rate() float64 { return float64(s.runs) / s.elapsed.Seconds() }

// percentile of a sorted list; 0 when it is empty.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// benchLoad lets clients do work, each as fast as it can, for about d. A run
// that was begun is finished and counted, and so is its time.
func benchLoad(ctx context.Context, clients int, d time.Duration, work benchRun) benchSample {
	transport := &http.Transport{MaxIdleConns: clients, MaxIdleConnsPerHost: clients, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	start, parts := time.Now(), make([]benchSample, clients)
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { parts[i] = benchClient(ctx, client, start.Add(d), work) })
	}
	wg.Wait()
	return benchJoin(parts, time.Since(start))
}

func benchClient(ctx context.Context, c *http.Client, until time.Time, work benchRun) (s benchSample) {
	for time.Now().Before(until) && ctx.Err() == nil {
		begin := time.Now()
		first, err := work(ctx, c)
		if err != nil {
			s.failed, s.lastErr = s.failed+1, err
			continue
		}
		s.runs++
		s.took, s.first = append(s.took, time.Since(begin)), append(s.first, first)
	}
	return s
}

func benchJoin(parts []benchSample, elapsed time.Duration) benchSample {
	all := benchSample{elapsed: elapsed}
	for _, p := range parts {
		all.runs, all.failed = all.runs+p.runs, all.failed+p.failed
		all.took, all.first = append(all.took, p.took...), append(all.first, p.first...)
		if p.lastErr != nil {
			all.lastErr = p.lastErr
		}
	}
	slices.Sort(all.took)
	slices.Sort(all.first)
	return all
}

// benchTask drives a task itself, as a client without a bridge has to.
func benchTask(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		made, err := benchPost(ctx, c, base+"/ap/v1/agent/tasks", `{"input":"hi"}`)
		if err != nil {
			return 0, err
		}
		id, err := between(made, `"task_id":"`, `"`)
		if err != nil {
			return 0, err
		}
		var step []byte
		for range benchSteps {
			step, err = benchPost(ctx, c, base+"/ap/v1/agent/tasks/"+id+"/steps", "")
			if err != nil {
				return 0, err
			}
			if bytes.Contains(step, []byte(`"is_last":true`)) {
				return 0, nil
			}
		}
		return 0, fmt.Errorf("the task did not end after %d steps, the last of which was %s", benchSteps, step)
	}
}

// benchWait is one run through the bridge.
func benchWait(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		body, err := benchPost(ctx, c, base+"/runs/wait", `{"agent_id":"instant","input":"hi"}`)
		if err != nil {
			return 0, err
		}
		if !bytes.Contains(body, []byte("did part 3")) {
			return 0, fmt.Errorf("the run did not end well: %.200s", body)
		}
		return 0, nil
	}
}

// benchCreate is one small POST.
func benchCreate(url, body string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		_, err := benchPost(ctx, c, url, body)
		return 0, err
	}
}

// benchStream is one streamed run through the bridge.
func benchStream(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		begin := time.Now()
		res, err := benchSend(ctx, c, base+"/runs/stream", `{"agent_id":"instant","input":"hi","stream_mode":["updates"]}`)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		var first time.Duration
		ended, lines := false, bufio.NewScanner(res.Body)
		for lines.Scan() {
			if first == 0 && strings.HasPrefix(lines.Text(), "event:") {
				first = time.Since(begin)
			}
			ended = ended || strings.Contains(lines.Text(), "did part 3")
		}
		if !ended {
			return 0, fmt.Errorf("the stream broke off (%v)", lines.Err())
		}
		return first, nil
	}
}

func benchPost(ctx context.Context, c *http.Client, url, body string) ([]byte, error) {
	res, err := benchSend(ctx, c, url, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// benchSend posts JSON and refuses any status but 200.
func benchSend(ctx context.Context, c *http.Client, url, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
		return nil, fmt.Errorf("%s answered %d: %s", url, res.StatusCode, text)
	}
	return res, nil
}

// between is what stands between two marks.
func between(b []byte, from, to string) (string, error) {
	_, rest, ok := bytes.Cut(b, []byte(from))
	found, _, end := bytes.Cut(rest, []byte(to))
	if !ok || !end {
		return "", fmt.Errorf("no %s in %.200s", from, b)
	}
	return string(found), nil
}
