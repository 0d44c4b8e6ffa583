package fault

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
)

// TestLimitsOfOneRequest checks that a request that causes more work than its length suggests has a named limit. Above
// it, the request is refused in its dialect with a status that clients do not retry. Below it, the request is served.
func TestLimitsOfOneRequest(t *testing.T) {
	t.Parallel()
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL)})
	cfg.Limits.MaxFilesPerRequest, cfg.Limits.Crons, cfg.Limits.Messages, cfg.Limits.MaxStateKeys = 3, 2, 3, 3
	cfg.Limits.MaxSupersteps, cfg.Limits.MaxPruneThreads = 3, 3
	b := rig.StartBridge(t, cfg)
	files := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"/f%d.txt":"x"`, i))
		}
		return `{"files":{` + strings.Join(list, ",") + `}`
	}
	quoted := func(list ...string) string {
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	item := func(namespace, key string) string {
		return `{"namespace":` + namespace + `,"key":"` + key + `","value":{}}`
	}
	b.Post("/runs/wait", `{"assistant_id":"agent","input":`+files(3)+`,"input":"hi"}}`).OK()
	b.Post(b.Thread()+"/state", `{"values":`+files(3)+`}}`).OK()
	for range 2 {
		b.Post("/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *","input":"hi"}`).OK()
	}
	b.Do("PUT", "/store/items", item(quoted(strings.Split(strings.Repeat("a,", 31)+"a", ",")...), strings.Repeat("k", 1024))).OK()
	for what, tt := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"files of an input":  {"POST", "/runs/wait", `{"assistant_id":"agent","input":` + files(4) + `}}`, 422, "limits.max_files_per_request"},
		"files of a state":   {"POST", b.Thread() + "/state", `{"values":` + files(4) + `}}`, 422, "limits.max_files_per_request"},
		"files of a history": {"POST", "/threads", `{"supersteps":[{"updates":[{"values":` + files(2) + `}}]},{"updates":[{"values":` + files(2) + `}}]}]}`, 422, "limits.max_files_per_request"},
		"states of a thread": {"POST", "/threads", `{"supersteps":[{"updates":[` + strings.Repeat(`{"values":{}},`, 3) + `{"values":{}}]}]}`, 422, "limits.max_supersteps"},
		"threads of a prune": {"POST", "/threads/prune", `{"thread_ids":` + quoted(slices.Repeat([]string{"0190c9a2-0000-7000-8000-00000000dead"}, 4)...) + `}`, 422, "limits.max_prune_threads"},
		"messages, inputs":   {"POST", "/runs/wait", `{"assistant_id":"agent","input":{"messages":["","","",""]}}`, 422, "limits.messages"},
		"messages":           {"POST", "/runs/wait", `{"agent_id":"agent","messages":` + manyMessages(4)[len(`{"messages":`):], 422, "limits.messages"},
		"messages, states":   {"POST", b.Thread() + "/state", `{"values":{"messages":["","","",""]}}`, 422, "limits.messages"},
		"messages, patches":  {"PATCH", b.Thread(), manyMessages(4), 422, "limits.messages"},
		"keys of a state":    {"POST", b.Thread() + "/state", `{"values":` + manyKeys(4) + `}`, 422, "limits.max_state_keys"},
		"crons":              {"POST", "/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *","input":"hi"}`, 429, "limits.crons"},
		"labels":             {"PUT", "/store/items", item(quoted(strings.Split(strings.Repeat("a,", 32)+"a", ",")...), "k"), 422, "33 labels"},
		"a label's length":   {"PUT", "/store/items", item(quoted(strings.Repeat("a", 257)), "k"), 422, "257 bytes"},
		"the length of keys": {"PUT", "/store/items", item(quoted("a"), strings.Repeat("k", 1025)), 422, "1025 bytes"},
	} {
		if got := b.Do(tt.method, tt.path, tt.body); got.Status != tt.status || !rig.Says(string(got.Body), tt.says) {
			t.Errorf("%s: %d %.300s, want %d with %q", what, got.Status, got.Body, tt.status, tt.says)
		}
	}
}
