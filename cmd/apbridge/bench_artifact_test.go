package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

const artifactSize = 100 << 20

// artifacts sends a large file to a task and reads it back.
func (b *bench) artifacts(t *testing.T) {
	client := benchClients(1)
	defer client.CloseIdleConnections()
	up, aside, down, peak := samples{}, samples{}, samples{}, samples{}
	speed := func(begin time.Time) float64 { return artifactSize / 1e6 / time.Since(begin).Seconds() }
	for _, v := range b.versions {
		bridge := b.fresh(t, v.binary)
		for range 3 {
			task, begin := newLargeTask(t, client, bridge.url), time.Now()
			uploadLarge(t, client, task, "path/first", artifactSize)
			up.add(v.name, speed(begin))
			begin = time.Now()
			id := uploadLarge(t, client, task, "", artifactSize)
			aside.add(v.name, speed(begin))
			begin = time.Now()
			downloadLarge(t, client, task, id, artifactSize)
			down.add(v.name, speed(begin))
		}
		peak.add(v.name, bridge.peak())
		bridge.stop()
	}
	b.table.figure("100 MB artifact up", up.measured(), "MB/s")
	b.table.figure("100 MB artifact up, path not known before the file", aside.measured(), "MB/s")
	b.table.figure("100 MB artifact down", down.measured(), "MB/s")
	b.table.figure("100 MB artifacts up and down: peak RSS", peak.measured(), "MB")
}

// newLargeTask makes a task and returns its URL.
func newLargeTask(t *testing.T, c *http.Client, base string) string {
	t.Helper()
	made, err := benchCall(t.Context(), c, http.MethodPost, base+"/ap/v1/agent/tasks", `{"input":"hi"}`)
	if err != nil {
		t.Fatal(err)
	}
	id, err := between(made, `"task_id":"`, `"`)
	if err != nil {
		t.Fatal(err)
	}
	return base + "/ap/v1/agent/tasks/" + id
}

// largeFile is a file of any size whose bytes look random and are the same each
// time.
func largeFile(size int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }

const largeBoundary = "a-boundary-that-is-in-no-file"

// largeForm is a multipart body; folder "" leaves relative_path out, so that
// whoever reads it in order does not know the file's path before its end.
func largeForm(folder string, size int64) (body io.Reader, length int64) {
	head, tail := "", "\r\n--"+largeBoundary+"--\r\n"
	if folder != "" {
		head = "--" + largeBoundary + "\r\nContent-Disposition: form-data; name=\"relative_path\"\r\n\r\n" + folder + "\r\n"
	}
	head += "--" + largeBoundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"large.bin\"\r\n\r\n"
	return io.MultiReader(strings.NewReader(head), largeFile(size), strings.NewReader(tail)), int64(len(head)) + size + int64(len(tail))
}

// uploadLarge uploads and returns the artifact's id.
func uploadLarge(t *testing.T, c *http.Client, task, folder string, size int64) string {
	t.Helper()
	body, length := largeForm(folder, size)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, task+"/artifacts", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = length
	res, err := benchSend(c, req, "multipart/form-data; boundary="+largeBoundary)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	id, err := between(text, `"artifact_id":"`, `"`)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// downloadLarge reads the file and compares every byte.
func downloadLarge(t *testing.T, c *http.Client, task, id string, size int64) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, task+"/artifacts/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := benchSend(c, req, "application/json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := sameBytes(res.Body, largeFile(size)); err != nil || res.ContentLength != size {
		t.Fatalf("%d bytes announced of %d: %v", res.ContentLength, size, err)
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
			return fmt.Errorf("they differ after byte %d: %d and %d bytes more (%w)", at, n, m, gotErr)
		case wantErr != nil:
			if gotErr != nil && !errors.Is(gotErr, wantErr) {
				return gotErr
			}
			return nil
		}
	}
}
