package store

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

// The size of a thread is counted up to a limit, and without other threads.
func TestThreadStorage(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		s, err := Open(t.Context(), fresh(t), Options{}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.base.DB.Write(t.Context(), func(x *sqldb.Tx) error {
			for _, text := range []string{
				`INSERT INTO events (id, thread, seq, kind, at_us, head, data, snapshot) VALUES (1, 7, 1, 'a', 1, 'head', 'data', 'snapshot'), (2, 7, 2, 'a', 1, NULL, 'data', NULL),
 (3, 7, 3, 'a', 1, 'h', NULL, ''), (4, 8, 1, 'a', 1, 'other', 'other', 'other')`,
				`INSERT INTO artifacts (id, thread, artifact_id, task_id, path, nested, size, mime, sum, agent_created, remote_id, staged, blob, created_us, modified_us) VALUES
 (1, 7, 'a', '', 'a', 0, 5000000000, '', '', 0, '', 0, 1, 1, 1), (2, 7, 'b', '', 'a', 0, 10, '', '', 0, '', -1, 2, 1, 1), (3, 8, 'c', '', 'a', 0, 77, '', '', 0, '', 0, 3, 1, 1)`,
			} {
				if _, err := x.Exec(text); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for most, want := range map[int64]ThreadStorage{
			3: {Events: 3, States: 2, Files: 2, EventBytes: 13, StateBytes: 8, FileBytes: 5000000010},
			1: {Events: 2, States: 1, Files: 2, EventBytes: 5, StateBytes: 0, FileBytes: 5000000010, More: true},
		} {
			var got ThreadStorage
			if err := s.base.DB.Read(t.Context(), func(x *sqldb.Tx) (err error) {
				got, err = storageOf(x, 7, most)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("at most %d (-want +got):\n%s", most, diff)
			}
		}
		if _, err := s.Threads.Storage(t.Context(), "none"); mapping.Classify(err).Class != mapping.NotFound {
			t.Error(err)
		}
	})
}
