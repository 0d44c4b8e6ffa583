package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// tally is a task/step agent with three steps that counts its work by the text of the run. It completes requests even
// if the caller has disconnected.
type tally struct {
	mu    sync.Mutex
	tasks []*tallyTask
	made  map[string]int // tasks for these words
}

type tallyTask struct {
	words string
	steps int  // done
	busy  bool // a step is being done
	extra int  // steps requested after the last one, or concurrently
}

const tallySteps = 3

func newTally() *tally { return &tally{made: map[string]int{}} }

// wordsPattern finds the texts of runs. The last one in a prompt is new.
var wordsPattern = regexp.MustCompile(`canary-[0-9]+-[0-9]+`)

func (a *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/ap/v1/agent/tasks"), "/")[1:]
	var status int
	var answer any
	switch {
	case !strings.HasPrefix(r.URL.Path, "/ap/v1/agent/tasks"):
		status, answer = http.StatusNotFound, map[string]any{"message": "no such path"}
	case len(parts) == 0 && r.Method == http.MethodPost:
		status, answer = http.StatusOK, a.create(body)
	case len(parts) == 2 && parts[1] == "steps" && r.Method == http.MethodPost:
		status, answer = a.step(parts[0])
	default:
		status, answer = a.read(parts)
	}
	raw, _ := json.Marshal(answer)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.Copy(w, bytes.NewReader(raw))
}

func (a *tally) create(body []byte) any {
	all := wordsPattern.FindAllString(string(body), -1)
	words := "none"
	if len(all) > 0 {
		words = all[len(all)-1]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made[words]++
	a.tasks = append(a.tasks, &tallyTask{words: words})
	return a.task(len(a.tasks) - 1)
}

func (a *tally) task(n int) map[string]any {
	return map[string]any{"task_id": fmt.Sprintf("t%d", n), "input": a.tasks[n].words, "artifacts": []any{}}
}

// step takes as long as a fast tool, so that a process can die during it.
func (a *tally) step(id string) (int, any) {
	a.mu.Lock()
	k := a.find(id)
	if k == nil {
		a.mu.Unlock()
		return http.StatusNotFound, map[string]any{"message": "no such task"}
	}
	if k.busy || k.steps == tallySteps {
		k.extra++
	}
	k.busy = true
	a.mu.Unlock()
	<-time.After(50 * time.Millisecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	k.busy = false
	k.steps++
	return http.StatusOK, stepOf(id, k, k.steps)
}

func stepOf(id string, k *tallyTask, n int) map[string]any {
	return map[string]any{
		"task_id": id, "step_id": fmt.Sprintf("%s-s%d", id, n), "status": "completed", "artifacts": []any{},
		"output": fmt.Sprintf("step %d of %s", n, k.words), "is_last": n >= tallySteps,
	}
}

func (a *tally) find(id string) *tallyTask {
	var n int
	if _, err := fmt.Sscanf(id, "t%d", &n); err != nil || n >= len(a.tasks) {
		return nil
	}
	return a.tasks[n]
}

// read returns the lists and single objects of the document.
func (a *tally) read(parts []string) (int, any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(parts) == 0 {
		list := []any{}
		for n := range a.tasks {
			list = append(list, a.task(n))
		}
		return http.StatusOK, map[string]any{"tasks": list, "pagination": onePage(len(list))}
	}
	k := a.find(parts[0])
	switch {
	case k == nil:
		return http.StatusNotFound, map[string]any{"message": "no such task"}
	case len(parts) == 1:
		var n int
		_, _ = fmt.Sscanf(parts[0], "t%d", &n)
		return http.StatusOK, a.task(n)
	case parts[1] == "steps":
		list := []any{}
		for n := 1; n <= k.steps; n++ {
			list = append(list, stepOf(parts[0], k, n))
		}
		return http.StatusOK, map[string]any{"steps": list, "pagination": onePage(len(list))}
	}
	return http.StatusOK, map[string]any{"artifacts": []any{}, "pagination": onePage(0)}
}

func onePage(n int) map[string]any {
	return map[string]any{"total_items": n, "total_pages": 1, "current_page": 1, "page_size": max(n, 1)}
}

// of returns the work done for a text: tasks created, steps executed, and superfluous requests for steps.
func (a *tally) of(words string) (tasks, steps, extra int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.tasks {
		if k.words == words {
			steps, extra = steps+k.steps, extra+k.extra
		}
	}
	return a.made[words], steps, extra
}
