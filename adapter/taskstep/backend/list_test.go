package backend

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// TestListEnds checks that reading pages ends for every server, and finds all entries.
func TestListEnds(t *testing.T) {
	t.Parallel()
	tasks := func(from, to int) string {
		var list []string
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprintf(`{"task_id":"%d"}`, i))
		}
		return strings.Join(list, ",")
	}
	atoi := func(s string) int { n, _ := strconv.Atoi(s); return max(n, 1) }
	for _, c := range []struct {
		name string
		page func(q map[string]string) string
		want int
		cut  bool
	}{
		{"bare", func(map[string]string) string { return "[" + tasks(0, 25) + "]" }, 25, false},
		{"ids", func(map[string]string) string { return `["a","b",3]` }, 3, false},
		{"one page", func(map[string]string) string {
			return `{"tasks":[` + tasks(0, 4) + `],"pagination":{"total_items":4,"total_pages":0}}`
		}, 4, false},
		{"pages of ten whatever is asked", func(q map[string]string) string {
			n := atoi(q["current_page"])
			return `{"tasks":[` + tasks(10*(n-1), min(10*n, 34)) + `],"pagination":{"total_items":34}}`
		}, 34, false},
		{"only page and pageSize", func(q map[string]string) string {
			n := atoi(q["page"])
			return `{"items":[` + tasks(10*(n-1), min(10*n, 34)) + `],"pagination":{"total":34,"current":1}}`
		}, 34, false},
		{"the first page for ever", func(map[string]string) string {
			return `{"tasks":[` + tasks(0, 10) + `],"pagination":{"total_items":1000,"current_page":1}}`
		}, 10, true},
		{"the first page for ever, without a total", func(map[string]string) string {
			return `{"tasks":[` + tasks(0, 10) + `],"pagination":{"total_pages":7}}`
		}, 10, true},
		{"pages without a total", func(q map[string]string) string {
			n := atoi(q["current_page"])
			return `{"tasks":[` + tasks(10*(n-1), min(10*n, 25)) + `],"pagination":{"total_pages":3}}`
		}, 25, false},
	} {
		srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := map[string]string{}
			for k, v := range r.URL.Query() {
				q[k] = v[0]
			}
			_, _ = w.Write([]byte(c.page(q)))
		}))
		j := &runState{backend: backendAt(t, srv.URL).(*backend), ctx: context.Background()}
		got, whole, err := j.list("/ap/v1/agent/tasks", "tasks")
		if err != nil || len(got) != c.want || whole == c.cut {
			t.Errorf("%s: %d entries, whole %v, %v, want %d", c.name, len(got), whole, err, c.want)
		}
	}
}

// TestListIsBounded uses a server that always has a new entry.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	n := 0
	srv := adaptertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprintf(w, `{"tasks":[{"task_id":"%d"}],"pagination":{"total_pages":99}}`, n)
	}))
	j := &runState{backend: backendAt(t, srv.URL).(*backend), ctx: context.Background()}
	got, whole, err := j.list("/ap/v1/agent/tasks", "tasks")
	if err != nil || whole || len(got) > 1+len(pageQueries)*maxPages {
		t.Errorf("%d entries after %d requests, %v", len(got), n, err)
	}
}
