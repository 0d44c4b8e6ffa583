package rig

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// blank is the file of a database in which nothing was written yet. To make one takes as long as many tests do
// without it: it is made once for all bridges of a test binary, which have a copy each.
var blank = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "apbridge-blank-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "blank.db")
	st, err := store.Open(context.Background(), path, store.Options{}, zap.NewNop())
	if err != nil {
		return nil, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// copyBlank puts a database without rows at dsn, if that is a path.
func copyBlank(t *testing.T, dsn string) {
	t.Helper()
	if strings.Contains(dsn, "://") {
		return
	}
	file, err := blank()
	if err == nil {
		err = os.WriteFile(dsn, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
