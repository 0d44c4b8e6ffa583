package matrix

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/adapter/adaptertest/toy"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

func withToy() adapter.Dialects { return append(bridge.Dialects(), toy.Dialect()) }

// inFrontSpeaking starts a bridge of the dialects in front of one agent, which is asked what it
// speaks.
func inFrontSpeaking(t *testing.T, dialects adapter.Dialects, peer adaptertest.Peer) *rig.Bridge {
	t.Helper()
	agents := map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, peer).URL)}
	return rig.StartSpeaking(t, rig.ConfigFor(t, agents), dialects)
}

// TestFurtherDialectIsKnownEverywhere: what guards, pages, service and loss table say of the toy
// comes from its folder.
func TestFurtherDialectIsKnownEverywhere(t *testing.T) {
	t.Parallel()
	b := inFrontSpeaking(t, withToy(), &toy.Agent{Says: []string{"one"}, Ends: "! \"out of order\"\n"})
	b.Get("/toy/x//y").Want(t, 400, `{"toy":"`)
	b.Get("/toy/other").Want(t, 404, `! "The toy has`)
	b.Get("/toy").Want(t, 200, "toy\n")
	b.Do("POST", "/toy/say", "hi").Want(t, 200, "- \"one\"\n", "! ", "out of order")

	show(t, b, "/").Want(t, 200, "words (the toy), or threads and runs")
	show(t, b, "/docs").Want(t, 200, `<figure id="curl-toy">`, b.URL+"/toy/say --data-raw hi")

	run := `{"assistant_id":"agent","context":{"a":1},"config":{"tags":["x"]},"durability":"sync",` + rig.SaysHi + `}`
	if lossy := b.Post("/runs/wait", run).OK().Header.Get("X-Apbridge-Lossy"); lossy != "input;approximated, config;dropped, context;dropped, durability;dropped" {
		t.Errorf("X-Apbridge-Lossy is %q", lossy)
	}
	goes := `{"assistant_id":"agent","command":{"goto":"x"}}`
	b.Post("/threads/"+b.Post("/threads", `{}`).OK().Text("thread_id")+"/runs/wait", goes).Want(t, 422, "not supported before a toy")
}

// TestFurtherDialectWritesItsWebhooks: a run of the toy tells its end in the toy's words.
func TestFurtherDialectWritesItsWebhooks(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- string(body)
	}))
	t.Cleanup(receiver.Close)
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(adaptertest.Serve(t, &toy.Agent{Says: []string{"one"}}).URL)})
	cfg.Webhooks.AllowPrivateNetworks = true
	b := rig.StartSpeaking(t, cfg, withToy())
	said := b.Do("POST", "/toy/say", "hi", "Toy-Hook", receiver.URL).Want(t, 200, "- \"one\"\n")
	select {
	case got := <-told:
		if want := `"` + said.Header.Get("Toy-Talk") + ` success"`; got != want {
			t.Errorf("the webhook was told %s, want %s", got, want)
		}
	case <-time.After(time.Minute):
		t.Error("no webhook came")
	}
}

// TestFurtherDialectAddsRows to the loss table, and changes none.
func TestFurtherDialectAddsRows(t *testing.T) {
	t.Parallel()
	var others []mapping.LossRow
	got := map[string]int{}
	for _, row := range withToy().LossTable() {
		if row.From == "toy" || row.To == "toy" {
			got[row.From+" to "+row.To]++
		} else {
			others = append(others, row)
		}
		if row.To == "toy" && row.Field == "context" && row.Request == "run" && (row.Fate != mapping.Dropped || !strings.Contains(row.Reason, "no word")) {
			t.Errorf("what the toy does not name is %s: %s", row.Fate, row.Reason)
		}
	}
	if diff := cmp.Diff(bridge.Dialects().LossTable(), others); diff != "" {
		t.Errorf("rows without the toy (-before +after):\n%s", diff)
	}
	for _, way := range []string{"toy to toy", "toy to taskstep", "toy to threadrun", "taskstep to toy", "threadrun to toy"} {
		if got[way] == 0 {
			t.Errorf("no rows of %s", way)
		}
	}
}
