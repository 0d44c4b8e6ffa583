package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestCronsOverHTTP(t *testing.T) {
	t.Parallel()
	bridge := legacyBridge(t)
	status, body := post(t, bridge+"/runs/crons", `{"assistant_id":"legacy","schedule":"0 8 * * *","input":{"messages":[]},"timezone":"Asia/Tokyo"}`)
	var c struct {
		ID   string `json:"cron_id"`
		Next string `json:"next_run_date"`
	}
	if json.Unmarshal([]byte(body), &c) != nil || status != 200 || !strings.HasSuffix(c.Next, "T23:00:00.000Z") {
		t.Fatal(status, body)
	}
	if status, body := post(t, bridge+"/runs/crons", `{"assistant_id":"legacy","schedule":"whenever"}`); status != 422 || !strings.Contains(body, "five fields") {
		t.Error(status, body)
	}
	if status, body := post(t, bridge+"/threads/0190e1f2-0000-7000-8000-000000000001/runs/crons", `{"assistant_id":"legacy","schedule":"@daily"}`); status != 404 {
		t.Error(status, body)
	}
	if status, body := post(t, bridge+"/runs/crons/count", `{"assistant_id":"legacy"}`); status != 200 || body != "1" {
		t.Error(status, body)
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		req, _ := http.NewRequest(method, bridge+"/runs/crons/"+c.ID, strings.NewReader(`{"schedule":"@hourly"}`))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode/100 != 2 {
			t.Errorf("%s: %d", method, res.StatusCode)
		}
	}
	if status, body := post(t, bridge+"/runs/crons/search", `{}`); status != 200 || body != "[]" {
		t.Error(status, body)
	}
}
