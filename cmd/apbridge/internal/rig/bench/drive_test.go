package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/uuid"
)

// benchRun is one unit of work for one client. For streams, first is the time until the first event.
type benchRun func(ctx context.Context, c *http.Client) (first time.Duration, err error)

// benchSample holds the measurements of one setup in one round.
type benchSample struct {
	runs    int
	failed  int
	lastErr error
	elapsed time.Duration
	took    []time.Duration // sorted
	first   []time.Duration // sorted
}

func (s benchSample) rate() float64 { return float64(s.runs) / s.elapsed.Seconds() }

// percentile returns a percentile of a sorted list, or 0 if the list is empty.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// benchLoad runs clients as fast as they can for about d. Runs that have begun are finished and counted with their
// time.
func benchLoad(ctx context.Context, clients int, d time.Duration, work benchRun) benchSample {
	until := time.Now().Add(d)
	return benchWhile(ctx, clients, func() bool { return time.Now().Before(until) }, work)
}

// benchNumber runs clients as fast as they can until they have done work n times together.
func benchNumber(ctx context.Context, clients, n int, work benchRun) benchSample {
	var begun atomic.Int64
	return benchWhile(ctx, clients, func() bool { return begun.Add(1) <= int64(n) }, work)
}

func benchWhile(ctx context.Context, clients int, more func() bool, work benchRun) benchSample {
	client := benchClients(clients)
	defer client.CloseIdleConnections()
	start, parts := time.Now(), make([]benchSample, clients)
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { parts[i] = benchClient(ctx, client, more, work) })
	}
	wg.Wait()
	return benchJoin(parts, time.Since(start))
}

// benchClients returns a client for n concurrent requests.
func benchClients(n int) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConns: n, MaxIdleConnsPerHost: n, DisableCompression: true}}
}

func benchClient(ctx context.Context, c *http.Client, more func() bool, work benchRun) (s benchSample) {
	for ctx.Err() == nil && more() {
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

// benchTask drives a task like a client without a bridge. It reads every response, since the next call depends on it.
func benchTask(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		var task instantTask
		if err := benchPost(ctx, c, base+"/ap/v1/agent/tasks", `{"input":"hi"}`, &task); err != nil {
			return 0, err
		}
		var step instantStep
		for range benchSteps {
			step = instantStep{}
			if err := benchPost(ctx, c, base+"/ap/v1/agent/tasks/"+task.ID+"/steps", "", &step); err != nil {
				return 0, err
			}
			if step.IsLast {
				return 0, nil
			}
		}
		return 0, fmt.Errorf("the task did not end after %d steps, the last of which was %+v", benchSteps, step)
	}
}

// benchAnswer has the members of a response that a client of a run reads (Agent Protocol, RunWaitResponse).
type benchAnswer struct {
	Run      struct{ Status string }
	Messages []struct{ Content string }
}

// benchWait is one run of the instant agent through the bridge.
func benchWait(base string) benchRun { return benchWaitFor("instant", base) }

func benchWaitFor(agent, base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		var answer benchAnswer
		if err := benchPost(ctx, c, base+"/runs/wait", fmt.Sprintf(`{"agent_id":%q,"input":"hi"}`, agent), &answer); err != nil {
			return 0, err
		}
		if n := len(answer.Messages); answer.Run.Status != "success" || n == 0 || answer.Messages[n-1].Content != instantWork(benchSteps) {
			return 0, fmt.Errorf("the run did not end well: %+v", answer)
		}
		return 0, nil
	}
}

const benchMessage = `{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"hi"}]}}`

// benchSend is one blocking message to the instant agent through the A2A face.
func benchSend(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		var answer struct {
			Task struct {
				Status    struct{ State string }
				Artifacts []struct{ Parts []struct{ Text string } }
			}
		}
		if err := benchPost(ctx, c, base+"/a2a/instant/message:send", fmt.Sprintf(benchMessage, uuid.NewString()), &answer); err != nil {
			return 0, err
		}
		if a := answer.Task.Artifacts; answer.Task.Status.State != "TASK_STATE_COMPLETED" || len(a) != 1 || a[0].Parts[0].Text != instantWork(benchSteps) {
			return 0, fmt.Errorf("the task did not end well: %+v", answer)
		}
		return 0, nil
	}
}

// benchA2AStream is one streamed message through the A2A face.
func benchA2AStream(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		return benchRead(ctx, c, base+"/a2a/instant/message:stream", fmt.Sprintf(benchMessage, uuid.NewString()), "data:", "TASK_STATE_COMPLETED")
	}
}

// benchCreate is one small POST.
func benchCreate(url, body string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		return 0, benchPost(ctx, c, url, body, &struct{}{})
	}
}

// benchStream is one streamed run through the bridge.
func benchStream(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		return benchRead(ctx, c, base+"/runs/stream", `{"agent_id":"instant","input":"hi","stream_mode":["updates"]}`, "event:", "did part 3")
	}
}

// benchRead reads a stream to its end and returns the time until its first event. begins is the beginning of a line of
// each event, and last is in one of them.
func benchRead(ctx context.Context, c *http.Client, url, body, begins, last string) (first time.Duration, err error) {
	begin := time.Now()
	res, err := benchOpen(ctx, c, url, body)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	ended, lines := false, bufio.NewScanner(res.Body)
	for lines.Scan() {
		if first == 0 && strings.HasPrefix(lines.Text(), begins) {
			first = time.Since(begin)
		}
		ended = ended || strings.Contains(lines.Text(), last)
	}
	if !ended {
		return 0, fmt.Errorf("the stream broke off (%v)", lines.Err())
	}
	return first, nil
}

// benchPost posts JSON and decodes the JSON response.
func benchPost(ctx context.Context, c *http.Client, url, body string, into any) error {
	text, err := rig.Call(ctx, c, http.MethodPost, url, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func benchGet(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	return rig.Call(ctx, c, http.MethodGet, url, "")
}

// benchOpen posts JSON and returns the unread response.
func benchOpen(ctx context.Context, c *http.Client, url, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return rig.Send(c, req, "application/json")
}
