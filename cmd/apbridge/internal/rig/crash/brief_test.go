package crash

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

// talks is a quick agent that has no files, so that its runs wait on their way into the
// database.
func talks() adaptertest.Peer {
	a := adaptertest.NewStepAgent(adaptertest.Python)
	a.Script[1].Files = nil
	return a
}

// playBrief is a client of stateless runs, which keeps the ids of those it was told
// of. Nothing reads before the last, so that they wait when the process dies.
func playBrief(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	const runs = 5
	var told []string
	for range runs {
		if a, ok := d.Try("POST", "/runs/wait", `{"agent_id":"agent","input":"hi"}`); ok {
			told = append(told, a.OK().Text("run.run_id"))
		}
	}
	for _, id := range told {
		expect(d, "a run that was acknowledged", d.Get("/runs/"+id).At("status"), "success")
	}
	checkBrief(t, d, peer, runs, len(told))
	d.Get("/readyz")
	d.End()
}

// checkBrief: whether a run whose request broke off is there, depends on when; but
// the agent has done the work of every run that is there, once, or the run says that
// its outcome is unknown.
func checkBrief(t *testing.T, d *rig.Killable, peer adaptertest.Peer, asked, told int) {
	t.Helper()
	found := d.Sure("POST", "/runs/search", `{"limit":100}`).OK().List("")
	lost := 0
	for _, r := range found {
		id := rig.Dig(r, "run_id").(string)
		if rig.Dig(r, "status") == "success" {
			continue // and may be deleted by the time that the lost one ends
		}
		if joined := d.Get("/runs/" + id + "/wait"); d.Get("/runs/"+id).At("status") != "success" { // what died is taken up again
			lost++
			if !strings.Contains(string(joined.Body), "outcome_unknown") {
				t.Errorf("a run failed: %.300s", joined.Body)
			}
		}
	}
	there := len(found)
	if there < told || there > asked || told < asked-1 {
		t.Errorf("%d runs were asked for, %d acknowledged, %d are there", asked, told, there)
	}
	if lost > asked-told {
		t.Errorf("%d of %d runs have an unknown outcome, though %d were acknowledged", lost, there, told)
	}
	checkWork(t, peer, there, lost)
}

// TestA5_BriefRunsWait makes sure that the scene is about what it is meant to be.
func TestA5_BriefRunsWait(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	_, times := briefScene.rehearse(t)
	for _, point := range []string{"redo begun", "redo written", "after commit of ahead.run"} {
		if times[point] == 0 {
			t.Errorf("the scene does not come by %q", point)
		}
	}
	if made := times["after commit of Store.CreateRun"]; made > 2 || times["redo written"] < 6 {
		t.Errorf("%d of 5 runs were made in a transaction of their own", made)
	}
}

var briefScene = scene{name: "brief runs", environ: []string{"APBRIDGE_SYNCHRONOUS=normal"}, peer: talks, play: playBrief}

// TestA5_BriefAtOnce is a few deaths of that scene.
func TestA5_BriefAtOnce(t *testing.T) {
	t.Parallel()
	storetest.File(t)
	for _, p := range []string{"redo begun#1", "redo written#1", "redo written#2", "agent answered#6", "before commit of ahead.run#1", "after commit of ahead.run#1"} {
		t.Run(strings.ReplaceAll(p, " ", "-"), func(t *testing.T) {
			t.Parallel()
			if !briefScene.die(t, p) {
				t.Error("the point was not reached")
			}
		})
	}
}
