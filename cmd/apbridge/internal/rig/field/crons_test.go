package field

import (
	"strings"
	"testing"
)

func TestCronIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	bridge := legacyBridge(t)
	made := bridge.Do("POST", "/runs/crons", `{"assistant_id":"legacy","schedule":"0 8 * * *","input":{"messages":[]},"timezone":"Asia/Tokyo"}`).Want(t, 200)
	if next := made.Member("next_run_date"); !strings.HasSuffix(next, "T23:00:00.000Z") {
		t.Errorf("next run at %s", next)
	}
	bridge.Do("POST", "/runs/crons", `{"assistant_id":"legacy","schedule":"whenever"}`).Want(t, 422, "five fields")
	bridge.Do("POST", "/threads/0190e1f2-0000-7000-8000-000000000001/runs/crons", `{"assistant_id":"legacy","schedule":"@daily"}`).Want(t, 404)
	if got := bridge.Do("POST", "/runs/crons/count", `{"assistant_id":"legacy"}`).Want(t, 200); got.String() != "1" {
		t.Errorf("count: %s", got.String())
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		if got := bridge.Do(method, "/runs/crons/"+made.Member("cron_id"), `{"schedule":"@hourly"}`); got.Status/100 != 2 {
			t.Errorf("%s: %d %s", method, got.Status, got.String())
		}
	}
	if got := bridge.Do("POST", "/runs/crons/search", `{}`).Want(t, 200); got.String() != "[]" {
		t.Errorf("crons: %s", got.String())
	}
}
