package legacyagent

import (
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// call makes a request and decodes the answer into one loose shape.
func call(t *testing.T, method, url, contentType, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if json.Unmarshal(raw, &v) != nil {
		v = map[string]any{"raw": string(raw)}
	}
	return res.StatusCode, v
}

const jsonType = "application/json"

func newTask(t *testing.T, input string) string {
	t.Helper()
	srv := httptest.NewServer(Handler())
	t.Cleanup(srv.Close)
	status, task := call(t, "POST", srv.URL+"/ap/v1/agent/tasks", jsonType, `{"input":"`+input+`"}`)
	if status != 200 {
		t.Fatalf("create task: status %d, %v", status, task)
	}
	return srv.URL + "/ap/v1/agent/tasks/" + task["task_id"].(string)
}

func TestTaskRunsToItsEnd(t *testing.T) {
	t.Parallel()
	task := newTask(t, "Write the word 'Washington'")
	form := &strings.Builder{}
	m := multipart.NewWriter(form)
	part, _ := m.CreateFormFile("file", "notes.txt")
	io.WriteString(part, "remember me")
	m.Close()
	if status, v := call(t, "POST", task+"/artifacts", m.FormDataContentType(), form.String()); status != 200 {
		t.Fatalf("upload: status %d, %v", status, v)
	}
	names, last := []string{}, map[string]any{}
	for len(names) < 10 && last["is_last"] != true {
		_, last = call(t, "POST", task+"/steps", jsonType, "")
		names = append(names, last["name"].(string))
	}
	if got := strings.Join(names, " "); got != "think write_file finish" {
		t.Errorf("steps = %q", got)
	}
	_, listed := call(t, "GET", task+"/artifacts", "", "")
	made := listed["artifacts"].([]any)[1].(map[string]any)
	_, file := call(t, "GET", task+"/artifacts/"+made["artifact_id"].(string), "", "")
	if text, _ := file["raw"].(string); !strings.Contains(text, "Washington") || !strings.Contains(text, "remember me") {
		t.Errorf("answer.txt = %q, want the request and the upload in it", text)
	}
}

func TestTaskAsksAndTakesTheAnswer(t *testing.T) {
	t.Parallel()
	task := newTask(t, "please ask me")
	_, question := call(t, "POST", task+"/steps", jsonType, "")
	if question["is_last"] != false || !strings.Contains(question["output"].(string), "?") {
		t.Errorf("first step = %v, want a question that is not last", question)
	}
	call(t, "POST", task+"/steps", jsonType, `{"input":"blue"}`)
	_, wrote := call(t, "POST", task+"/steps", jsonType, "")
	file := wrote["artifacts"].([]any)[0].(map[string]any)
	_, got := call(t, "GET", task+"/artifacts/"+file["artifact_id"].(string), "", "")
	if text, _ := got["raw"].(string); !strings.Contains(text, "You told me: blue") {
		t.Errorf("answer.txt = %q, want the answer in it", text)
	}
}

func TestTaskFailsInItsSecondStep(t *testing.T) {
	t.Parallel()
	task := newTask(t, "Write a report, then fail")
	if status, _ := call(t, "POST", task+"/steps", jsonType, ""); status != 200 {
		t.Errorf("first step: status %d", status)
	}
	if status, v := call(t, "POST", task+"/steps", jsonType, ""); status != 500 || !strings.Contains(v["message"].(string), "disk is full") {
		t.Errorf("second step: status %d, %v", status, v)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	task := newTask(t, "hi")
	base := task[:strings.LastIndex(task, "/")]
	for name, c := range map[string]struct {
		method, url, body string
		want              int
	}{
		"unknown task":     {"GET", base + "/nobody", "", 404},
		"unknown artifact": {"GET", task + "/artifacts/none", "", 404},
		"bad task":         {"POST", base, "{", 422},
		"bad step":         {"POST", task + "/steps", `{"input":7}`, 422},
		"no file":          {"POST", task + "/artifacts", "", 422},
	} {
		if got, v := call(t, c.method, c.url, jsonType, c.body); got != c.want {
			t.Errorf("%s: status %d, want %d (%v)", name, got, c.want, v)
		}
	}
}
