package adaptertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

func (a *ThreadAgent) listRuns(w http.ResponseWriter, t *scriptedThread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []string
	for _, r := range t.runs {
		list = append(list, a.shown(r))
	}
	jsonBody(w, "["+strings.Join(list, ",")+"]")
}

// shown returns a run as the server sends it.
func (a *ThreadAgent) shown(r *scriptedRun) string {
	if a.Aegra {
		return strings.Replace(r.json(), `"metadata":`+string(r.metadata)+",", "", 1)
	}
	return r.json()
}

func (r *scriptedRun) json() string {
	return fmt.Sprintf(`{"run_id":%q,"thread_id":%q,"assistant_id":"fe096781-5601-53d2-b2f6-0d3403f7e9ca","metadata":%s,"status":%q,"kwargs":{},"multitask_strategy":"reject","created_at":"2026-11-21T05:04:11.%sZ","updated_at":"2026-11-21T05:04:11.286Z"}`,
		r.id, r.thread, r.metadata, r.status, r.id[len(r.id)-3:])
}

func (a *ThreadAgent) startRun(w http.ResponseWriter, r *http.Request, t *scriptedThread, thread string, body []byte) {
	req := struct {
		Metadata json.RawMessage `json:"metadata"`
	}{json.RawMessage("{}")}
	_ = json.Unmarshal(body, &req)
	a.mu.Lock()
	for _, other := range t.runs {
		if other.status == "running" {
			a.mu.Unlock()
			a.noThread(w, "POST /threads/{t}/runs/stream", thread)
			return
		}
	}
	a.made++
	play := a.nextPlay(t, body)
	run := &scriptedRun{id: fmt.Sprintf("01a1fc7d-bb54-710b-addd-%012d", a.made), thread: thread, play: play,
		metadata: req.Metadata, status: "running", stopped: make(chan struct{})}
	t.runs = append(t.runs, run)
	t.state = run.fill(play.State)
	if !play.Hang {
		run.status = play.Status
		if run.status == "" {
			run.status = "success"
		}
	}
	a.mu.Unlock()
	if play.LoseAnswer {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Location", "/threads/"+thread+"/runs/"+run.id)
	a.play(w, r, run, 0)
}

func (a *ThreadAgent) nextPlay(t *scriptedThread, body []byte) ThreadPlay {
	if a.Choose != nil {
		return a.Choose(body)
	}
	return a.Plays[min(len(t.runs), len(a.Plays)-1)]
}

func (a *ThreadAgent) inRun(w http.ResponseWriter, r *http.Request, route string, t *scriptedThread, id string) {
	var run *scriptedRun
	a.mu.Lock()
	for _, x := range t.runs {
		if x.id == id {
			run = x
		}
	}
	a.mu.Unlock()
	switch {
	case run == nil && route == "GET /threads/{t}/runs/{r}/stream":
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: error\ndata: \"Run not found\"\n\n")
	case run == nil:
		http.Error(w, "Run not found", http.StatusNotFound)
	case route == "GET /threads/{t}/runs/{r}":
		a.mu.Lock()
		defer a.mu.Unlock()
		jsonBody(w, a.shown(run))
	case route == "GET /threads/{t}/runs/{r}/stream":
		after, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		if err != nil {
			after = len(run.play.Frames) // without a number nothing is replayed
		}
		a.play(w, r, run, run.play.resumeAfter(after))
	case route == "POST /threads/{t}/runs/{r}/cancel":
		a.cancel(w, run)
	default:
		http.NotFound(w, r)
	}
}

func (a *ThreadAgent) cancel(w http.ResponseWriter, run *scriptedRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if run.status == "running" {
		run.status = "interrupted"
		close(run.stopped)
	}
	w.WriteHeader(http.StatusNoContent)
}

// play writes the frames, starting with number first, and ends as scripted.
func (a *ThreadAgent) play(w http.ResponseWriter, r *http.Request, run *scriptedRun, first int) {
	a.mu.Lock()
	cut, whole := at(run.play.CutAfter, run.opened), at(run.play.CloseAfter, run.opened)
	run.opened++
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for i := first; i < len(run.play.Frames); i++ {
		if i-first == whole {
			return
		}
		if i-first == cut {
			panic(http.ErrAbortHandler)
		}
		name, data, _ := strings.Cut(run.play.Frames[i], " ")
		fmt.Fprintf(w, "event: %s\ndata: %s\n", name, run.fill(data))
		if !run.play.NoIDs {
			fmt.Fprintf(w, "id: %d\n", i)
		}
		io.WriteString(w, "\n")
		_ = flush.Flush()
	}
	switch {
	case run.play.Hang:
		select {
		case <-r.Context().Done():
		case <-run.stopped:
		}
	case run.play.Linger:
		<-r.Context().Done()
	}
}

// resumeAfter returns the number of the frame with which a stream continues if it is resumed after the given frame.
func (p *ThreadPlay) resumeAfter(frame int) int {
	switch {
	case p.Resume == ResumeAll:
		return 0
	case p.Resume == ResumeAt && frame >= 0:
		return frame
	}
	return frame + 1
}

func at(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return -1
}
