package backend

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/mapping"
)

func aegra(plays ...adaptertest.ThreadPlay) *adaptertest.ThreadAgent {
	a := playing(plays...)
	a.Aegra = true
	return a
}

// TestAegraTakesEveryRequest checks that all requests meet Aegra's restrictions: searches in pages of 100, and flat
// metadata in runs that create their thread, have marks of the bridge, or follow another run.
func TestAegraTakesEveryRequest(t *testing.T) {
	t.Parallel()
	a := aegra(adaptertest.ChatPlay())
	b := scripted(t, a)
	task := adaptertest.NewTask(nil)
	task.Run.Metadata = json.RawMessage(`{"graph_id":"g","apbridge":{"task_id":"t"}}`)
	first := adaptertest.Collect(within(t), b, task, 0)
	second := adaptertest.Collect(within(t), b, then(first, "again"), 0)
	if first.Err != nil || second.Err != nil || a.Work() != 2 {
		t.Fatalf("errors %v and %v, %d runs", first.Err, second.Err, a.Work())
	}
}

// TestAegraContinuesAfterAStop checks that a request that only asks to continue names the checkpoint for Aegra but not
// for other servers.
func TestAegraContinuesAfterAStop(t *testing.T) {
	t.Parallel()
	a := aegra(adaptertest.StepPlays()...)
	b := scripted(t, a)
	task := adaptertest.NewTask(nil)
	task.OneStep = true
	first := adaptertest.Collect(within(t), b, task, 0)
	task.After, task.Link = first.Events[:len(first.Events)-1], linkOf(first)
	second := adaptertest.Collect(within(t), b, task, 0)
	if first.Err != nil || second.Err != nil || nodesOf(second) != "think" || a.Work() != 2 {
		t.Fatalf("errors %v and %v, updates of %q, %d runs", first.Err, second.Err, nodesOf(second), a.Work())
	}
	bodies := a.Bodies(routeStart)
	if len(bodies) != 3 || object(bodies[1])["checkpoint"] != nil {
		t.Fatalf("requests %s", bodies)
	}
	sameJSON(t, object(bodies[2])["checkpoint"], `{"checkpoint_id":"1f1e5690-23fd-62e0-8000-000000000001","checkpoint_ns":""}`)
}

// TestAegraRunThatLostItsAnswer uses a server that does not return the metadata of runs. The run is found on a thread
// that was created for it. On other threads its outcome is unknown, and it is not sent again.
func TestAegraRunThatLostItsAnswer(t *testing.T) {
	t.Parallel()
	lost := adaptertest.ChatPlay()
	lost.LoseAnswer = true
	a := aegra(lost)
	if tr := run(t, a, adaptertest.NewTask(nil)); tr.Err != nil || a.Work() != 1 {
		t.Errorf("on its own thread: error %v, %d runs", tr.Err, a.Work())
	}

	a = aegra(adaptertest.AskPlay(), lost)
	b := scripted(t, a)
	asked := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 0)
	task := then(asked, "")
	task.Resume, task.Run.Options.Resume = true, json.RawMessage(`"yes"`)
	if tr := adaptertest.Collect(within(t), b, task, 0); tr.Code() != mapping.CodeOutcomeUnknown || a.Work() != 2 {
		t.Errorf("on a thread with other runs: error %v, %d runs", tr.Err, a.Work())
	}
}

// TestAegraCancel checks that the run in the link is cancelled even if it has no mark.
func TestAegraCancel(t *testing.T) {
	t.Parallel()
	a := aegra(adaptertest.HangPlay())
	b := scripted(t, a).(*backend)
	tr := adaptertest.Collect(within(t), b, adaptertest.NewTask(nil), 2)
	if err := b.Cancel(within(t), linkOf(tr), adaptertest.RunID); err != nil || a.Calls(routeCancel) != 1 {
		t.Errorf("%d cancellations, error %v", a.Calls(routeCancel), err)
	}
}

// TestPages checks that lists are read to the end, even if a server treats the limit as the end position or ignores the
// offset.
func TestPages(t *testing.T) {
	t.Parallel()
	all := make([]string, 250)
	for i := range all {
		all[i] = fmt.Sprintf("00000000-0000-7000-8000-%012d", i)
	}
	cut := func(from, to int) []string { return all[min(from, len(all)):min(max(from, to), len(all))] }
	for name, page := range map[string]func(offset, limit int) ([]string, error){
		"pages": func(offset, limit int) ([]string, error) {
			if limit > pageLimit {
				return nil, &upstream.Failure{Kind: upstream.Refused, Status: 422}
			}
			return cut(offset, offset+limit), nil
		},
		"limit is the end": func(offset, limit int) ([]string, error) { return cut(offset, limit), nil },
	} {
		got, err := pages(page, func(s string) string { return s })
		if err != nil || len(got) != len(all) || got[249] != all[249] {
			t.Errorf("%s: %d entries, error %v", name, len(got), err)
		}
	}
	calls := 0
	got, err := pages(func(int, int) ([]string, error) { calls++; return all[:100], nil }, func(s string) string { return s })
	if err != nil || len(got) != 100 || calls != 2 {
		t.Errorf("offset ignored: %d entries in %d calls, error %v", len(got), calls, err)
	}
}
