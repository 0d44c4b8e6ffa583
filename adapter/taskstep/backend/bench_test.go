package backend

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// instant responds at once. Every third step is the last.
func instant() http.Handler {
	const task, step = `{"task_id":"t","input":"hi","additional_input":{},"artifacts":[]}`,
		`{"task_id":"t","step_id":"s","name":null,"input":null,"status":"completed","output":"done","additional_output":{},"artifacts":[],"is_last":`
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"tasks":[],"pagination":{"total_items":0,"total_pages":0,"current_page":1,"page_size":10}}`)
		case strings.HasSuffix(r.URL.Path, "/steps"):
			if n++; n%3 == 0 {
				_, _ = io.WriteString(w, step+"true}")
			} else {
				_, _ = io.WriteString(w, step+"false}")
			}
		default:
			_, _ = io.WriteString(w, task)
		}
	})
}

// BenchmarkRun runs three steps through the backend. BenchmarkDirect sends the same four calls with a bare client, as
// the lower bound.
func BenchmarkRun(b *testing.B) {
	srv := httptest.NewServer(instant())
	defer srv.Close()
	backend, err := Dial(adaptertest.Upstream(srv.URL))
	if err != nil {
		b.Fatal(err)
	}
	task := adaptertest.NewTask(nil)
	b.ReportAllocs()
	for b.Loop() {
		if tr := adaptertest.Collect(context.Background(), backend, task, 0); tr.Err != nil || len(tr.Outputs()) != 3 {
			b.Fatalf("%+v", tr)
		}
	}
}

func BenchmarkDirect(b *testing.B) {
	srv := httptest.NewServer(instant())
	defer srv.Close()
	call := func(path, body string) {
		res, err := http.Post(srv.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	b.ReportAllocs()
	for b.Loop() {
		call("/ap/v1/agent/tasks", `{"input":"hi"}`)
		for range 3 {
			call("/ap/v1/agent/tasks/t/steps", "")
		}
	}
}
