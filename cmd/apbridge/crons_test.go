package main

import (
	"strings"
	"testing"
)

func TestCronsOverHTTP(t *testing.T) {
	t.Parallel()
	bridge := legacyBridge(t)
	made := bridge.send("POST", "/runs/crons", `{"assistant_id":"legacy","schedule":"0 8 * * *","input":{"messages":[]},"timezone":"Asia/Tokyo"}`).want(t, 200)
	if next := made.member("next_run_date"); !strings.HasSuffix(next, "T23:00:00.000Z") {
		t.Errorf("next at %s", next)
	}
	bridge.send("POST", "/runs/crons", `{"assistant_id":"legacy","schedule":"whenever"}`).want(t, 422, "five fields")
	bridge.send("POST", "/threads/0190e1f2-0000-7000-8000-000000000001/runs/crons", `{"assistant_id":"legacy","schedule":"@daily"}`).want(t, 404)
	if got := bridge.send("POST", "/runs/crons/count", `{"assistant_id":"legacy"}`).want(t, 200); got.body != "1" {
		t.Errorf("count: %s", got.body)
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		if got := bridge.send(method, "/runs/crons/"+made.member("cron_id"), `{"schedule":"@hourly"}`); got.status/100 != 2 {
			t.Errorf("%s: %d %s", method, got.status, got.body)
		}
	}
	if got := bridge.send("POST", "/runs/crons/search", `{}`).want(t, 200); got.body != "[]" {
		t.Errorf("crons: %s", got.body)
	}
}
