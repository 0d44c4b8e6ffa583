package backend

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
)

const (
	routeHistory = "POST /threads/{t}/history"
	forkedValues = `{"messages":[{"id":"h1","type":"human","content":"one"}]}`
)

// forking returns a run that starts in the middle of the run of a trace, and the agent's history with that checkpoint.
func forking(tr adaptertest.Trace) (adapter.Assignment, map[string]*adaptertest.Canned) {
	task := adaptertest.NewTask(nil)
	task.Run.ID, task.Link = strings.Replace(adaptertest.RunID, "01", "02", 1), linkOf(tr)
	task.Graph.Values, task.Graph.Fork = json.RawMessage(forkedValues), &adapter.Fork{Run: task.Link.RemoteRun, Step: 1}
	point := fmt.Sprintf(`[{"values":%s,"next":["answer"],"metadata":{"run_id":%q,"step":1},"checkpoint":{"checkpoint_id":"middle"}}]`, forkedValues, task.Link.RemoteRun)
	return task, map[string]*adaptertest.Canned{routeHistory: {Status: 200, Type: "application/json", Body: point}}
}

// TestForkOfADeadProcessIsFound lets a process die after the request for a run from a checkpoint of an existing thread.
// The run is found on that thread.
func TestForkOfADeadProcessIsFound(t *testing.T) {
	t.Parallel()
	a := playing(adaptertest.ChatPlay())
	b := before(t, a)
	task, history := forking(adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0))
	a.Canned = history
	died := adaptertest.Collect(within(t), b, task, 0)
	task.InDoubt = true
	tr := adaptertest.Collect(within(t), b, task, 0)
	if tr.Err != nil || a.Work() != 2 || linkOf(tr).RemoteRun != linkOf(died).RemoteRun {
		t.Errorf("error %v, %d runs, %+v; want that of %+v", tr.Err, a.Work(), linkOf(tr), linkOf(died))
	}
	if body := string(a.Bodies(routeStart)[1]); !strings.Contains(body, `"checkpoint_id":"middle"`) {
		t.Errorf("the run was searched for with %s", body)
	}
	var asked struct {
		Limit    int
		Metadata struct {
			Run  string `json:"run_id"`
			Step int
		}
	}
	if err := json.Unmarshal(a.Bodies(routeHistory)[0], &asked); err != nil || asked.Metadata.Run != task.Graph.Fork.Run || asked.Metadata.Step != 1 || asked.Limit == 0 {
		t.Errorf("the history was requested with %s", a.Bodies(routeHistory)[0])
	}
}

// TestForkWithoutItsCheckpoint checks that a new thread gets the whole state if the agent's history lacks the
// checkpoint. If the agent does not respond, the run fails.
func TestForkWithoutItsCheckpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history adaptertest.Canned
		fails   bool
	}{
		"none":           {adaptertest.Canned{Status: 200, Type: "application/json", Body: `[]`}, false},
		"no such route":  {adaptertest.Canned{Status: 404}, false},
		"another run's":  {adaptertest.Canned{Status: 200, Type: "application/json", Body: `[{"values":{},"metadata":{"run_id":"x","step":1}}]`}, false},
		"nobody answers": {adaptertest.Canned{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := playing(adaptertest.ChatPlay())
			b := before(t, a)
			first := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
			task, _ := forking(first)
			a.Canned = map[string]*adaptertest.Canned{routeHistory: &c.history}
			tr := adaptertest.Collect(within(t), b, task, 0)
			if c.fails {
				if tr.Err == nil || a.Work() != 1 {
					t.Errorf("error %v, %d runs", tr.Err, a.Work())
				}
				return
			}
			if tr.Err != nil || linkOf(tr).Remote == linkOf(first).Remote || a.Calls(routeUpdate) != 1 {
				t.Errorf("error %v, thread %s, state sent %d times", tr.Err, linkOf(tr).Remote, a.Calls(routeUpdate))
			}
		})
	}
}
