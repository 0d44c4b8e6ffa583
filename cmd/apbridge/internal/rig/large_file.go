package rig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// NewLargeTask creates a task and returns its URL.
func NewLargeTask(t *testing.T, c *http.Client, base string) string {
	t.Helper()
	made, err := Call(t.Context(), c, http.MethodPost, base+"/ap/v1/agent/tasks", `{"input":"hi"}`)
	if err != nil {
		t.Fatal(err)
	}
	id, err := Between(made, `"task_id":"`, `"`)
	if err != nil {
		t.Fatal(err)
	}
	return base + "/ap/v1/agent/tasks/" + id
}

// LargeFile returns a file of any size with reproducible pseudorandom bytes.
func LargeFile(size int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }

// LargeBoundary is the boundary of forms with large files.
const LargeBoundary = "a-boundary-that-is-in-no-file"

// LargeForm returns a multipart body. If folder is "", it lacks relative_path, so that the file's path is only known at
// the end of the stream.
func LargeForm(folder string, size int64) (body io.Reader, length int64) {
	head, tail := "", "\r\n--"+LargeBoundary+"--\r\n"
	if folder != "" {
		head = "--" + LargeBoundary + "\r\nContent-Disposition: form-data; name=\"relative_path\"\r\n\r\n" + folder + "\r\n"
	}
	head += "--" + LargeBoundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"large.bin\"\r\n\r\n"
	return io.MultiReader(strings.NewReader(head), LargeFile(size), strings.NewReader(tail)), int64(len(head)) + size + int64(len(tail))
}

// UploadLarge uploads a large file and returns the artifact's id.
func UploadLarge(t *testing.T, c *http.Client, task, folder string, size int64) string {
	t.Helper()
	body, length := LargeForm(folder, size)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, task+"/artifacts", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = length
	res, err := Send(c, req, "multipart/form-data; boundary="+LargeBoundary)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	id, err := Between(text, `"artifact_id":"`, `"`)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// DownloadLarge downloads the file and compares every byte.
func DownloadLarge(t *testing.T, c *http.Client, task, id string, size int64) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, task+"/artifacts/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Send(c, req, "application/json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := sameBytes(res.Body, LargeFile(size)); err != nil || res.ContentLength != size {
		t.Fatalf("Content-Length is %d, want %d: %v", res.ContentLength, size, err)
	}
}

// sameBytes compares two streams to their ends.
func sameBytes(got, want io.Reader) error {
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; at += int64(len(a)) {
		n, gotErr := io.ReadFull(got, a)
		m, wantErr := io.ReadFull(want, b)
		switch {
		case n != m || !bytes.Equal(a[:n], b[:m]):
			return fmt.Errorf("the streams differ after byte %d: %d and %d more bytes (%w)", at, n, m, gotErr)
		case wantErr != nil:
			if gotErr != nil && !errors.Is(gotErr, wantErr) {
				return gotErr
			}
			return nil
		}
	}
}

// LargeConfig returns the text of a configuration for one task/step agent, with more lines of the file.
func LargeConfig(folder, agent, more string) string {
	return fmt.Sprintf("database: %s\nagents:\n  files: {url: %q, dialect: taskstep}\n%s", filepath.Join(folder, "large.db"), agent, more)
}
