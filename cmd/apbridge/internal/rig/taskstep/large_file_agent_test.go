package taskstep

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// fileAgent is a task/step agent that accepts one file and creates one of the same size in its only step.
type fileAgent struct {
	size int64

	mu  sync.Mutex
	got string // sum of the upload
}

const fileAgentMade = `{"artifact_id":"made","agent_created":true,"file_name":"made.bin","relative_path":null}`

func (a *fileAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/tasks"):
		rig.InstantText(w, `{"task_id":"t1","input":"","additional_input":{},"artifacts":[]}`)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/artifacts"):
		a.take(w, r)
	case strings.HasSuffix(path, "/tasks"):
		rig.InstantText(w, `{"tasks":[],"pagination":{"total_items":1,"total_pages":1,"current_page":1,"page_size":10}}`)
	case strings.HasSuffix(path, "/artifacts/made"):
		io.Copy(w, rig.LargeFile(a.size))
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/steps"):
		rig.InstantText(w, `{"task_id":"t1","step_id":"s1","name":"make","status":"completed","output":"made a file","artifacts":[`+fileAgentMade+`],"is_last":true}`)
	case strings.HasSuffix(path, "/artifacts"):
		rig.InstantText(w, `{"artifacts":[`+fileAgentMade+`],"pagination":{"total_items":1,"total_pages":1,"current_page":1,"page_size":10}}`)
	default:
		http.NotFound(w, r)
	}
}

func (a *fileAgent) take(w http.ResponseWriter, r *http.Request) {
	form, err := r.MultipartReader()
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			break
		}
		if part.FormName() == "file" {
			a.note(part)
		}
	}
	rig.InstantText(w, `{"artifact_id":"given","agent_created":false,"file_name":"large.bin","relative_path":null}`)
}

func (a *fileAgent) note(file io.Reader) {
	sum := sumOf(file)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.got = sum
}

func (a *fileAgent) taken() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got
}

func sumOf(r io.Reader) string {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return err.Error()
	}
	return hex.EncodeToString(hash.Sum(nil))
}
