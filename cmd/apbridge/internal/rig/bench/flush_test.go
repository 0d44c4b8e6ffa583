package bench

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// benchFlush appends the size of a small commit to a file in the folder and flushes the file to disk. It is for one
// client.
func benchFlush(t *testing.T, folder string) benchRun {
	t.Helper()
	file, err := os.Create(filepath.Join(folder, "flush"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	page := make([]byte, 4<<10)
	return func(context.Context, *http.Client) (time.Duration, error) {
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		return 0, file.Sync()
	}
}
