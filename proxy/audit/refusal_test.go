package audit

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// TestRefusalsAreBounded checks the rate of lines about refused requests, from one address and from many, and that the
// next line has the number of dropped ones. They never wait, and do not displace other lines.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, c := &disk{}, &count{}
		l := newLog(config.Audit{}, d, c, zap.NewNop())
		defer l.Close()
		written := func(n int, from string) (lines int, last Entry) {
			t.Helper()
			before := c.written
			for i := range n {
				address := from
				if from == "" {
					address = fmt.Sprint("2001:db8::", i)
				}
				l.Refuse(Entry{From: address, Status: 401})
				synctest.Wait()
			}
			list := d.lines()
			if err := json.Unmarshal([]byte(list[len(list)-1]), &last); err != nil {
				t.Fatal(err)
			}
			return c.written - before, last
		}
		for i, tt := range []struct {
			after   time.Duration
			from    string
			n       int
			want    int
			leftOut int64
		}{
			{0, "192.0.2.1", 1000, addressBurst, 0},
			{0, "192.0.2.2", 1, 1, 1000 - addressBurst},
			{0, "", 1000, refusalsBurst - addressBurst - 1, 0},
			{0, "192.0.2.3", 1, 0, 0},
			{refusalsInterval, "192.0.2.3", 1, 1, 1000 - (refusalsBurst - addressBurst - 1) + 1},
			{addressInterval, "192.0.2.2", 1, 1, 0},
			{24 * time.Hour, "", 100_000, refusalsBurst, 0},
		} {
			time.Sleep(tt.after)
			n, last := written(tt.n, tt.from)
			if n != tt.want || last.LeftOut != tt.leftOut || last.Operation != mapping.Refused || last.Outcome != Refused {
				t.Errorf("step %d: %d lines, want %d; the last is %+v", i, n, tt.want, last)
			}
		}
		if len(l.refused.from) > keptAddresses {
			t.Errorf("%d addresses are kept", len(l.refused.from))
		}
		d.set(true)
		time.Sleep(24 * time.Hour)
		began := time.Now()
		for range waiting + 1 {
			l.Write(Entry{Operation: mapping.Created})
			synctest.Wait()
		}
		l.Refuse(Entry{From: "192.0.2.9"})
		if took := time.Since(began); took != 0 || c.lost != 0 {
			t.Errorf("it waited %s, and %d were lost", took, c.lost)
		}
	})
}
