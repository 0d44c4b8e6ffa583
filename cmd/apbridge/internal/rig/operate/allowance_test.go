package operate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/coder/websocket"
)

const (
	boundKey = "bound-0123456789abcdef"
	freeKey  = "free--0123456789abcdef"
	opsKey   = "ops---0123456789abcdef"
)

// bounded starts a bridge with two keys, one of which has limits.
func bounded(t *testing.T, most config.Allowance, change ...func(*config.Config)) *rig.Bridge {
	t.Helper()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL)})
	cfg.Auth.Keys = []config.Key{{ID: "bound", Key: boundKey, Tenant: "acme", Limits: most}, {ID: "free", Key: freeKey, Tenant: "acme"}, {ID: "ops", Key: opsKey, Rights: []string{"metrics"}}}
	for _, c := range change {
		c(cfg)
	}
	return rig.StartBridge(t, cfg)
}

func forKey(*config.Config) {}

// forEach makes the allowance apply to each tenant.
func forEach(c *config.Config) {
	c.Limits.Tenant = c.Auth.Keys[0].Limits
	c.Limits.Tenants = map[string]config.Allowance{"": {}, "other": {Requests: "1/d"}}
	c.Auth.Keys[0].Limits = config.Allowance{}
}

// forTenant makes the allowance apply to the tenant instead of the key.
func forTenant(c *config.Config) {
	c.Limits.Tenant = config.Allowance{Requests: "50/d"} // of others
	c.Limits.Tenants = map[string]config.Allowance{"acme": c.Auth.Keys[0].Limits}
	c.Auth.Keys[0].Limits = config.Allowance{}
}

const aCron = `{"assistant_id":"agent","schedule":"0 0 1 1 *","input":"hi"}`

// TestAllowances checks that a request beyond any limit of a key or tenant is refused with 429, the limit's name and
// its configuration key, in the caller's dialect. If there is a Retry-After, waiting helps.
func TestAllowances(t *testing.T) {
	t.Parallel()
	item := func(i int) string { return fmt.Sprintf(`{"namespace":["a"],"key":"k%d","value":{"n":1}}`, i) }
	for limit, tt := range map[string]struct {
		most config.Allowance
		ask  func(b *rig.Bridge, i int) rig.Answer
		fine int
		heal bool // time helps
	}{
		"requests": {config.Allowance{Requests: "3/h"}, func(b *rig.Bridge, _ int) rig.Answer { return as(b, "GET", "/info", "") }, 3, true},
		"runs":     {config.Allowance{Runs: "2/d"}, func(b *rig.Bridge, _ int) rig.Answer { return as(b, "POST", "/runs/wait", `{"input":"hi"}`) }, 2, true},
		"runs by steps": {config.Allowance{Runs: "2/d"}, func(b *rig.Bridge, _ int) rig.Answer {
			task := as(b, "POST", "/ap/v1/agent/tasks", `{"input":"hi"}`)
			return as(b, "POST", "/ap/v1/agent/tasks/"+task.Text("task_id")+"/steps", `{}`)
		}, 2, true},
		"upload": {config.Allowance{Upload: "60/h"}, func(b *rig.Bridge, _ int) rig.Answer {
			return as(b, "POST", "/threads/search", `{"limit":1, "offset":0         }`)
		}, 1, true},
		"threads": {config.Allowance{Threads: 2}, func(b *rig.Bridge, _ int) rig.Answer { return as(b, "POST", "/threads", `{}`) }, 2, false},
		"threads of runs": {config.Allowance{Threads: 2}, func(b *rig.Bridge, _ int) rig.Answer {
			return as(b, "POST", "/runs", `{"input":"hi","on_completion":"keep"}`)
		}, 2, false},
		"threads of tasks": {config.Allowance{Threads: 2}, func(b *rig.Bridge, _ int) rig.Answer { return as(b, "POST", "/ap/v1/agent/tasks", `{}`) }, 2, false},
		"crons":            {config.Allowance{Crons: 2}, func(b *rig.Bridge, _ int) rig.Answer { return as(b, "POST", "/runs/crons", aCron) }, 2, false},
		"items":            {config.Allowance{Items: 2}, func(b *rig.Bridge, i int) rig.Answer { return as(b, "PUT", "/store/items", item(i)) }, 2, false},
		"disk":             {config.Allowance{Disk: 20}, func(b *rig.Bridge, i int) rig.Answer { return as(b, "PUT", "/store/items", item(i)) }, 2, false},
		"files": {config.Allowance{Files: 2}, func(b *rig.Bridge, i int) rig.Answer {
			return as(b, "POST", "/threads", fmt.Sprintf(`{"supersteps":[{"updates":[{"values":{"files":{"/f%d.txt":"x"}}}]}]}`, i))
		}, 2, false},
	} {
		for whose, change := range map[string]func(*config.Config){"the key": forKey, "the tenant": forTenant, "each tenant": forEach} {
			t.Run(limit+" of "+whose, func(t *testing.T) {
				t.Parallel()
				of, place := "tenant", "limits.tenant."
				if whose == "the key" {
					of, place = "key", "auth.keys[].limits."
				}
				b := bounded(t, tt.most, change)
				for i := range tt.fine {
					if got := tt.ask(b, i); got.Status > 299 {
						t.Fatalf("%d: %d %s", i, got.Status, got.Body)
					}
				}
				got := tt.ask(b, tt.fine)
				name, _, _ := strings.Cut(limit, " ")
				if got.Status != 429 || !rig.Says(string(got.Body), place+name, "_"+name) {
					t.Errorf("%d %s", got.Status, got.Body)
				}
				if again := got.Header.Get("Retry-After"); (again != "") != tt.heal || again == "0" {
					t.Errorf("Retry-After is %q", again)
				}
				if free := b.Do("POST", "/threads/count", `{}`, "X-Api-Key", freeKey); (free.Status == 200) != (of == "key" || name != "requests") {
					t.Errorf("another key of the tenant: %d %s", free.Status, free.Body)
				}
				counted := fmt.Sprintf(`apbridge_limit_refusals_total{limit="%s",of="%s"} `, name, of)
				if got := b.Do("GET", "/metrics", "", "X-Api-Key", opsKey).Is(200); !strings.Contains(string(got.Body), counted) || strings.Contains(string(got.Body), counted+"0") {
					t.Errorf("the refusal is not in the metrics")
				}
			})
		}
	}
}

func as(b *rig.Bridge, method, path, body string) rig.Answer {
	return b.Do(method, path, body, "X-Api-Key", boundKey)
}

// TestQuotasAreNeverExceeded sends a hundred concurrent requests, through two bridges if they can share a database.
// Exactly as many succeed as the quota allows, and a deletion allows another one.
func TestQuotasAreNeverExceeded(t *testing.T) {
	t.Parallel()
	b := bounded(t, config.Allowance{Threads: 10, Items: 10})
	bridges := []*rig.Bridge{b}
	if strings.Contains(b.Cfg.Database, "://") {
		bridges = append(bridges, b.Again())
	}
	var made, kept atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			at := bridges[i%len(bridges)]
			if as(at, "POST", "/threads", `{}`).Status == 200 {
				made.Add(1)
			}
			if as(at, "PUT", "/store/items", fmt.Sprintf(`{"namespace":["a"],"key":"k%d","value":{}}`, i)).Status < 300 {
				kept.Add(1)
			}
		})
	}
	all.Wait()
	if made.Load() != 10 || kept.Load() != 10 {
		t.Errorf("%d threads and %d items, want 10 of each", made.Load(), kept.Load())
	}
	thread := as(b, "POST", "/threads/search", `{"limit":1}`).Text("0.thread_id")
	as(b, "DELETE", "/threads/"+thread, "").Is(204)
	rig.Eventually(t, "a thread is accepted after a deletion", func() bool {
		got := as(b, "POST", "/threads", `{}`)
		if again := got.Header.Get("Retry-After"); got.Status != 200 && (got.Status != 429 || again == "") {
			t.Fatalf("%d, Retry-After is %q: %s", got.Status, again, got.Body)
		}
		return got.Status == 200
	})
	as(b, "POST", "/threads", `{}`).Is(429)
}

// TestBridgesShareRates checks that bridges over one database share a rate.
func TestBridgesShareRates(t *testing.T) {
	t.Parallel()
	b := bounded(t, config.Allowance{Runs: "10/h", Requests: "1000/s"})
	other := b
	if strings.Contains(b.Cfg.Database, "://") {
		other = b.Again()
	}
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if as([]*rig.Bridge{b, other}[i%2], "POST", "/runs", `{"input":"hi"}`).Status == 200 {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if made.Load() != 10 {
		t.Errorf("%d runs were created, want 10", made.Load())
	}
	for _, at := range []*rig.Bridge{b, other} {
		got := as(at, "GET", "/limits", "").Is(200)
		if got.Text("limits.1.limit") != "runs" || got.At("limits.1.left") != 0.0 || got.At("limits.1.seconds") != 3600.0 {
			t.Errorf("GET /limits: %s", got.Body)
		}
	}
}

// TestRepeatedRunsAreCountedOnce checks that a run repeated with its idempotency key is not counted again, alone or in
// a batch, sequentially or concurrently.
func TestRepeatedRunsAreCountedOnce(t *testing.T) {
	t.Parallel()
	b := bounded(t, config.Allowance{Runs: "1000/d"})
	const one = `{"assistant_id":"agent","input":"hi","on_completion":"keep"}`
	for path, body := range map[string]string{"/runs": one, "/runs/batch": "[" + one + "," + one + "," + one + "]"} {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { b.Do("POST", path, body, "X-Api-Key", boundKey, "Idempotency-Key", "again").OK() })
		}
		all.Wait()
		b.Do("POST", path, body, "X-Api-Key", boundKey, "Idempotency-Key", "again").OK()
	}
	if got := as(b, "GET", "/limits", ""); got.At("limits.0.used") != 4.0 {
		t.Errorf("GET /limits: %s", got.Body)
	}
}

// TestRefusedCallersUseNoLimits checks that callers without a valid key use up no limit of callers without a tenant,
// neither on public pages nor by refused requests.
func TestRefusedCallersUseNoLimits(t *testing.T) {
	t.Parallel()
	b := bounded(t, config.Allowance{}, func(c *config.Config) {
		for i := range c.Auth.Keys {
			c.Auth.Keys[i].Tenant = ""
		}
		c.Limits.Tenant.Requests = "3/d"
	})
	for range 3 {
		for _, path := range []string{"/", "/docs", "/openapi/threadrun.json", "/info", "/nowhere", "/limits", "/metrics"} {
			for _, key := range []string{"", "wrong-0123456789abcdef"} {
				if got := b.Do("GET", path, "", "X-Api-Key", key); got.Status == 429 {
					t.Errorf("%s: %d %s", path, got.Status, got.Body)
				}
			}
		}
	}
	for range 3 {
		as(b, "GET", "/info", "").Is(200)
	}
	as(b, "GET", "/info", "").Is(429)
}

// TestLimitOfOpenStreams checks that an open stream of any kind counts until it ends.
func TestLimitOfOpenStreams(t *testing.T) {
	t.Parallel()
	b := bounded(t, config.Allowance{Streams: 2})
	thread := "/threads/" + as(b, "POST", "/threads", `{}`).Is(200).Text("thread_id")
	var open []*http.Response
	for _, path := range []string{thread + "/stream", thread + "/stream"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", b.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", boundKey)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(err, res)
		}
		defer res.Body.Close()
		open = append(open, res)
	}
	task := "/ap/v1/agent/tasks/" + as(b, "POST", "/ap/v1/agent/tasks", `{"input":"hi"}`).Is(200).Text("task_id")
	for what, got := range map[string]rig.Answer{
		"a run's":       as(b, "POST", "/runs/stream", `{"input":"hi"}`),
		"of a protocol": as(b, "POST", thread+"/stream/events", `{"channels":["values"]}`),
		"a WebSocket":   as(b, "GET", thread+"/stream/events", ""),
		"a task's":      as(b, "GET", task+"/steps?stream=true", ""),
	} {
		if got.Status != 429 || !rig.Says(string(got.Body), "limit_streams", "auth.keys[].limits.streams") || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	if n := len(as(b, "POST", "/runs/search", `{}`).List("")); n > 1 {
		t.Errorf("a refused request created a run: there are %d", n)
	}
	if got := as(b, "GET", "/limits", ""); got.At("limits.0.used") != 2.0 {
		t.Errorf("GET /limits: %s", got.Body)
	}
	open[0].Body.Close()
	rig.Eventually(t, "a stream is accepted", func() bool { return as(b, "POST", "/runs/stream", `{"input":"hi"}`).Status == 200 })
}

// A command over a WebSocket counts as a request, and its bytes count as an upload.
func TestCommandsOverASocketCountAsRequests(t *testing.T) {
	t.Parallel()
	long := `{"id":1,"method":"state.get","params":{"x":"` + strings.Repeat("x", 4000) + `"}}`
	for name, tt := range map[string]struct {
		most    config.Allowance
		command string
		wants   string // the third answer, or the reason for the close
	}{
		"requests": {config.Allowance{Requests: "4/d"}, `{"id":1,"method":"state.get"}`, "auth.keys[].limits.requests"}, // the thread and the handshake are two
		"upload":   {config.Allowance{Upload: "9KiB/h"}, long, "limit_upload"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bounded(t, tt.most)
			thread := as(b, "POST", "/threads", `{}`).Is(200).Text("thread_id")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(b.URL, "http")+"/threads/"+thread+"/stream/events",
				&websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {boundKey}}})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseNow()
			var answer string
			for i := range 3 {
				if err := conn.Write(ctx, websocket.MessageText, []byte(tt.command)); err != nil {
					t.Fatal(err)
				}
				_, said, err := conn.Read(ctx)
				if answer = string(said); err != nil {
					answer = err.Error()
				}
				if i < 2 && (err != nil || strings.Contains(answer, "limits.")) {
					t.Fatalf("command %d: %s", i, answer)
				}
			}
			if !strings.Contains(answer, tt.wants) {
				t.Errorf("the response to the third command is %s", answer)
			}
		})
	}
}
