package backend

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// lateAgent lists a task or a step only when it is complete, in the format of any server. It does three steps.
type lateAgent struct {
	style string // format of its tasks
	// cutCreate and cutStep break the connection of the creation, or of the POST of that step, while the agent works.
	// It is complete after so many further reads of its list, or never if negative.
	cutCreate bool
	cutStep   int
	after     int

	mu       sync.Mutex
	creates  int
	steps    int
	looks    int // reads since the connection was cut
	hidden   bool
	addition string
}

func (a *lateAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch path := strings.TrimPrefix(r.URL.Path, "/ap/v1/agent/tasks"); {
	case r.Method == http.MethodPost && path == "":
		a.creates++
		_, a.addition, _ = strings.Cut(string(body), `"additional_input":`)
		a.answer(w, a.cutCreate && a.creates == 1, a.task())
	case r.Method == http.MethodPost && path == "/t/steps":
		a.steps++
		a.answer(w, a.steps == a.cutStep, a.step(a.steps))
	case path == "":
		fmt.Fprintf(w, `{"tasks":[%s],"pagination":{"total_items":%[2]d,"total_pages":1,"current_page":1}}`, a.list(a.creates, func(int) string { return a.task() }), a.shown(a.creates))
	case path == "/t/steps":
		fmt.Fprintf(w, `{"steps":[%s],"pagination":{"total_items":%[2]d,"total_pages":1,"current_page":1}}`, a.list(a.steps, a.step), a.shown(a.steps))
	case path == "/t":
		_, _ = io.WriteString(w, a.task())
	case path == "/t/artifacts":
		_, _ = io.WriteString(w, `{"artifacts":[]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (a *lateAgent) answer(w http.ResponseWriter, cut bool, body string) {
	if cut {
		a.hidden = true
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(w, body)
}

func (a *lateAgent) list(made int, entry func(n int) string) string {
	if a.hidden {
		a.looks++
		a.hidden = a.after < 0 || a.looks < a.after
	}
	var list []string
	for n := 1; n <= a.shown(made); n++ {
		list = append(list, entry(n))
	}
	return strings.Join(list, ",")
}

func (a *lateAgent) shown(made int) int {
	if a.hidden {
		return made - 1
	}
	return made
}

func (a *lateAgent) task() string {
	shape := map[string]string{
		"zone":    `"created_at":"2026-01-02T03:04:05Z",`,
		"no zone": `"created_at":"2026-01-02T03:04:05.123456",`,
		"steps":   `"steps":[],`,
	}[a.style]
	return fmt.Sprintf(`{%s"task_id":"t","artifacts":[],"additional_input":%s`, shape, orElse(a.addition, "{}}"))
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (a *lateAgent) step(n int) string {
	return fmt.Sprintf(`{"task_id":"t","step_id":"s%d","status":"completed","output":"%d","artifacts":[],"is_last":%t}`, n, n, n == 3)
}

func (a *lateAgent) did() (creates, steps int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.creates, a.steps
}

var styles = []string{"zone", "no zone", "steps"}

// lookingAt returns a backend that searches long enough for some reads.
func lookingAt(t *testing.T, url string, after int) adapter.Backend {
	if after > 0 {
		return patientAt(t, url)
	}
	return backendAt(t, url)
}

// TestNoStepTwice breaks the connection during a step. A step that is not listed may be in progress, for every kind of
// agent.
func TestNoStepTwice(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		for _, after := range []int{3, -1} {
			t.Run(fmt.Sprintf("%s/listed after %d looks", style, after), func(t *testing.T) {
				t.Parallel()
				agent := &lateAgent{style: style, cutStep: 2, after: after}
				tr := runTask(t, lookingAt(t, adaptertest.Serve(t, agent).URL, after), adaptertest.NewTask(nil))
				_, steps := agent.did()
				if after < 0 {
					mustFail(t, tr, mapping.CodeOutcomeUnknown)
					if steps != 2 {
						t.Errorf("%d steps executed, want 2", steps)
					}
					return
				}
				mustSucceed(t, tr)
				if steps != 3 || len(tr.Outputs()) != 3 {
					t.Errorf("%d steps executed and %d yielded, want 3", steps, len(tr.Outputs()))
				}
			})
		}
	}
}

// TestNoStepTwiceAfterADeath lets the bridge die during a step that the agent does not list afterwards.
func TestNoStepTwiceAfterADeath(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		for _, after := range []int{3, -1} {
			t.Run(fmt.Sprintf("%s/listed after %d looks", style, after), func(t *testing.T) {
				t.Parallel()
				agent := &lateAgent{style: style, after: after}
				url := adaptertest.Serve(t, agent).URL
				first := runFor(t, backendAt(t, url), adaptertest.NewTask(nil), 3) // the link and two steps, the second of which is not logged
				agent.mu.Lock()
				agent.hidden = true
				agent.mu.Unlock()
				task := again(adaptertest.NewTask(nil), first.Events[:2])
				task.InDoubt = true
				tr := runTask(t, lookingAt(t, url, after), task)
				_, steps := agent.did()
				if after < 0 {
					mustFail(t, tr, mapping.CodeOutcomeUnknown)
					if steps != 2 {
						t.Errorf("%d steps executed, want 2", steps)
					}
					return
				}
				mustSucceed(t, tr)
				if steps != 3 || len(tr.Outputs()) != 2 {
					t.Errorf("%d steps executed and %d yielded after the restart, want 3 and 2", steps, len(tr.Outputs()))
				}
			})
		}
	}
}

// TestNoTaskTwice breaks the connection, or lets the bridge die, while the agent creates the task and does not list it
// yet.
func TestNoTaskTwice(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		for _, died := range []bool{false, true} {
			for _, after := range []int{3, -1} {
				t.Run(fmt.Sprintf("%s/died=%v/listed after %d looks", style, died, after), func(t *testing.T) {
					t.Parallel()
					agent := &lateAgent{style: style, cutCreate: true, after: after}
					url := adaptertest.Serve(t, agent).URL
					task := adaptertest.NewTask(nil)
					if died {
						createElsewhereCut(t, url)
						task.InDoubt = true
					}
					tr := runTask(t, lookingAt(t, url, after), task)
					creates, steps := agent.did()
					switch {
					case after < 0 || died: // if the bridge died, a step may have been sent, too
						mustFail(t, tr, mapping.CodeOutcomeUnknown)
					default:
						mustSucceed(t, tr)
						if steps != 3 {
							t.Errorf("%d steps executed, want 3", steps)
						}
					}
					if creates != 1 {
						t.Errorf("%d tasks made, want 1", creates)
					}
				})
			}
		}
	}
}

// createElsewhereCut sends the creation of the bridge that died.
func createElsewhereCut(t *testing.T, url string) {
	t.Helper()
	body := `{"input":"hi","additional_input":{"apbridge":{"run_id":"` + adaptertest.RunID + `"}}}`
	res, err := http.Post(url+"/ap/v1/agent/tasks", "application/json", strings.NewReader(body))
	if err == nil {
		res.Body.Close()
	}
}
