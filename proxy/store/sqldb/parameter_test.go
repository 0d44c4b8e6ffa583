package sqldb_test

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

func TestTimesAreReadBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	for _, want := range []time.Time{{}, at} {
		if got := sqldb.TimeOf(sqldb.Micros(want)); !got.Equal(want) {
			t.Errorf("%s came back as %s", want, got)
		}
	}
}
