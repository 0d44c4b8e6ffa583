package face

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

// TestStatesOfGraphsWithinTheAgents checks the requested state and the response for every form of request that clients
// use.
func TestStatesOfGraphsWithinTheAgents(t *testing.T) {
	t.Parallel()
	thread := uuid(1)
	inner := `{"values":{"a":1,"b":2},"next":["x"],"tasks":[],"checkpoint":{"thread_id":"` + thread + `","checkpoint_ns":"node:1","checkpoint_id":"` + uuid(61) + `"}}`
	for name, c := range map[string]struct {
		method, path, body string
		asked              string // the expected call of the service; "" is not checked
		status             int
		answer             string // expected part
	}{
		"the newest": {"POST", "/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"node:1"}}`, "{node:1 } false", 200, inner},
		"as a task names it": {"POST", "/state/checkpoint", `{"checkpoint":{"thread_id":"t","checkpoint_ns":"node:1","checkpoint_id":null,"checkpoint_map":null}}`,
			"{node:1 } false", 200, inner},
		"a checkpoint":          {"POST", "/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"node:1","checkpoint_id":"` + uuid(61) + `"}}`, "{node:1 " + uuid(61) + "} false", 200, inner},
		"a checkpoint, mapped":  {"POST", "/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"node:1","checkpoint_map":{"":"x","node:1":"` + uuid(61) + `"}}}`, "{node:1 " + uuid(61) + "} false", 200, inner},
		"deep":                  {"POST", "/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"node:1"},"subgraphs":true}`, "{node:1 } true", 200, inner},
		"no tasks are wanted":   {"POST", "/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"node:1"},"subgraphs":true,"select":["values.a","next"]}`, "{node:1 } false", 200, `{"values":{"a":1},"next":["x"]}`},
		"one that is not there": {"POST", "/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"other:1"}}`, "{other:1 } false", 200, `{"values":{},"next":[],"tasks":[],"created_at":null,"checkpoint":null}`},
		"a history": {"POST", "/history", `{"checkpoint":{"checkpoint_ns":"node:1"},"limit":3,"before":{"checkpoint_id":"` + uuid(61) + `"},"metadata":{"step":1}}`,
			"{node:1 } 3" + uuid(61) + `{"step":1}`, 200, `[` + inner + `]`},
		"a history of nothing": {"POST", "/history", `{"checkpoint":{"checkpoint_ns":"other:1"}}`, "", 200, `[]`},
		"an update": {"POST", "/state", `{"checkpoint":{"checkpoint_ns":"node:1"},"values":[{"a":1},{"a":2}],"as_node":"n"}`, `{node:1 }{"a":1}1n`, 200,
			`{"checkpoint":{"thread_id":"` + thread + `","checkpoint_ns":"node:1","checkpoint_id":"` + uuid(62) + `"}}`},
		"a wrong id":           {"POST", "/state/checkpoint", `{"checkpoint":{"checkpoint_ns":"node:1","checkpoint_id":"x"}}`, "", 422, ""},
		"the head, deep":       {"GET", "/state?subgraphs=true", ``, "deep ", 200, ""},
		"the head":             {"GET", "/state?subgraphs=false", ``, "", 200, ""},
		"an older one, deep":   {"GET", "/state/" + uuid(51) + "?subgraphs=true", ``, "deep " + uuid(51), 200, ""},
		"the head, by POST":    {"POST", "/state/checkpoint", `{"checkpoint":null,"subgraphs":true}`, "deep ", 200, ""},
		"deep, without tasks":  {"GET", "/state?subgraphs=true&select=values", ``, "", 200, ""},
		"a run in one":         {"POST", "/runs", `{"assistant_id":"graph","checkpoint":{"checkpoint_ns":"node:1"}}`, "", 422, ""},
		"a change of a thread": {"PATCH", "", `{"checkpoint":{"checkpoint_ns":"node:1"},"values":{}}`, "", 422, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.addThread(thread, `{"messages":[]}`)
			srv := f.serve(t)
			req, _ := http.NewRequest(c.method, srv.URL+"/threads/"+thread+c.path, strings.NewReader(c.body))
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			answer, _ := io.ReadAll(res.Body)
			if res.StatusCode != c.status || c.answer != "" && !rawjson.Contains(answer, raw(c.answer)) {
				t.Errorf("%d %s", res.StatusCode, answer)
			}
			if asked := fmt.Sprint(f.lastQuery); c.asked != "" && asked != c.asked || c.asked == "" && strings.HasPrefix(asked, "deep") {
				t.Errorf("asked for %s, want %s", asked, c.asked)
			}
		})
	}
}
