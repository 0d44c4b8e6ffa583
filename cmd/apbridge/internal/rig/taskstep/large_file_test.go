package taskstep

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

const (
	gigabyte = 1 << 30
	quarter  = gigabyte / 4
	// mostMemory is the maximum memory in MB of a bridge that transfers files of any size.
	mostMemory = 100
)

// A gigabyte is uploaded and downloaded. A quarter of it is uploaded with the form's parts in the other order and sent
// to the agent, and a file of the same size comes back from the agent. The bridge's memory does not grow with the size.
func TestAGigabyteNeedsLittleMemory(t *testing.T) {
	if os.Getenv("APBRIDGE_TEST_LARGE") == "" {
		t.Skip("takes up to a minute and 4 GB of disk; APBRIDGE_TEST_LARGE=1 runs this")
	}
	storetest.File(t)
	agent := &fileAgent{size: quarter}
	server := httptest.NewServer(agent)
	defer server.Close()
	folder, client := t.TempDir(), &http.Client{}
	bridge := rig.StartProcess(t, rig.Release(t), folder, rig.LargeConfig(folder, server.URL, ""))
	flat := func(after string) {
		if peak := bridge.Peak(); peak > mostMemory {
			t.Errorf("after %s the peak of the bridge's memory is %.0f MB", after, peak)
		} else {
			t.Logf("after %s: %.0f MB at most", after, peak)
		}
	}

	task := rig.NewLargeTask(t, client, bridge.URL)
	id := rig.UploadLarge(t, client, task, "folder", gigabyte)
	flat("an upload")
	rig.DownloadLarge(t, client, task, id, gigabyte)
	flat("a download")

	task = rig.NewLargeTask(t, client, bridge.URL)
	rig.UploadLarge(t, client, task, "", quarter)
	flat("an upload whose path comes last")
	step, err := rig.Call(t.Context(), client, http.MethodPost, task+"/steps", "")
	if err != nil || !strings.Contains(string(step), "made a file") {
		t.Fatalf("the step is %s, %v", step, err)
	}
	flat("a file for the agent, and one of its own")
	want := sumOf(rig.LargeFile(quarter))
	if agent.taken() != want {
		t.Errorf("the agent received %s, want %s", agent.taken(), want)
	}
	made, err := rig.Between(step, `"artifacts":[{"artifact_id":"`, `"`)
	if err != nil {
		t.Fatal(err)
	}
	rig.DownloadLarge(t, client, task, made, quarter)
	flat("the agent's file")
}

// An upload over the limit, with or without a declared length, leaves no data, nor does one that breaks off.
func TestRefusedUploadsLeaveNothing(t *testing.T) {
	if os.Getenv("APBRIDGE_TEST_LARGE") == "" {
		t.Skip("builds the release binary and takes up to a minute; APBRIDGE_TEST_LARGE=1 runs this")
	}
	storetest.File(t)
	const limit = 8 << 20
	folder, client := t.TempDir(), &http.Client{}
	bridge := rig.StartProcess(t, rig.Release(t), folder, rig.LargeConfig(folder, "http://127.0.0.1:9", fmt.Sprintf("limits: {artifact: %d}\n", limit)))
	task := rig.NewLargeTask(t, client, bridge.URL)
	for _, sub := range []string{"", "folder"} {
		for _, announced := range []bool{true, false} {
			// The bridge does not read beyond the limit. A client that continues to write may find the connection
			// closed before it has read the response.
			status := 0
			for try := 0; status == 0 && try < 10; try++ {
				body, length := rig.LargeForm(sub, 4*limit)
				if !announced {
					length = -1
				}
				status = upload(t.Context(), client, task, body, length)
			}
			if status != http.StatusRequestEntityTooLarge {
				t.Errorf("too large, folder %q, declared %t: %d", sub, announced, status)
			}
		}
		body, length := rig.LargeForm(sub, limit/2)
		ctx, leave := context.WithCancel(t.Context())
		upload(ctx, client, task, &leaving{body, length / 2, leave}, length)
		body, length = rig.LargeForm(sub, limit/2)
		if status := upload(t.Context(), client, task, io.LimitReader(body, length-10), -1); status != http.StatusUnprocessableEntity {
			t.Errorf("incomplete, folder %q: %d", sub, status)
		}
	}
	bridge.Stop()
	for _, table := range []string{"artifacts", "blobs", "chunks"} {
		if n := rowsOf(t, filepath.Join(folder, "large.db"), table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "apbridge-upload-*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// upload returns the status of the response, or 0 without one.
func upload(ctx context.Context, c *http.Client, task string, body io.Reader, length int64) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, task+"/artifacts", body)
	if err != nil {
		return 0
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", "multipart/form-data; boundary="+rig.LargeBoundary)
	req.Header.Set("Expect", "100-continue") // so that a client that declares too much gets the refusal instead of a broken pipe
	res, err := c.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// leaving is a request body whose client disconnects in the middle.
type leaving struct {
	io.Reader
	left  int64
	leave func()
}

func (l *leaving) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		l.leave()
		return n, context.Canceled // a fast client would have sent the rest before it left
	}
	return n, err
}

func rowsOf(t *testing.T, path, table string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
