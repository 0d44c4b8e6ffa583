package store

import (
	"path/filepath"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

func TestSynchronousIsAsConfigured(t *testing.T) {
	t.Parallel()
	for configured, want := range map[string]string{"full": "FULL", "normal": "NORMAL"} {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{Synchronous: configured}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		err = s.PutItem(t.Context(), PutItem{Item: mapping.Item{Namespace: []string{"n"}, Key: "k", Value: []byte("{}")}})
		if err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil { // the writer has stopped: what it used can be read
			t.Error(err)
		}
		if level := s.db.(*sqlite).level; level != want {
			t.Errorf("%s: the last write was done at level %s", configured, level)
		}
	}
}
