package chore_test

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/chore"
)

func TestSchedules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, zone, from, next string }{
		{"* * * * *", "", "2026-11-21T08:00:00Z", "2026-11-21T08:01:00Z"},
		{"0 8 * * *", "", "2026-11-21T08:00:00Z", "2026-11-22T08:00:00Z"},
		{"*/15 * * * *", "UTC", "2026-11-21T08:01:02Z", "2026-11-21T08:15:00Z"},
		{" 30 9 * * mon-FRI ", "", "2026-11-21T08:00:00Z", "2026-11-23T09:30:00Z"},
		{"0 0 13 * 5", "", "2026-11-21T08:00:00Z", "2026-11-27T00:00:00Z"}, // either will do: a Friday
		{"0 0 29 2 *", "", "2026-11-21T08:00:00Z", "2028-02-29T00:00:00Z"},
		{"@daily", "", "2026-11-21T08:00:00Z", "2026-11-22T00:00:00Z"},
		{"0 8 * * *", "Asia/Tokyo", "2026-11-21T08:00:00Z", "2026-11-21T23:00:00Z"},
		{"0 8 * * *", "America/New_York", "2026-11-21T08:00:00Z", "2026-11-21T13:00:00Z"},
		{"0 8 * * *", "Europe/Berlin", "2026-10-24T06:00:00Z", "2026-10-25T07:00:00Z"}, // summer time ends
	} {
		s, err := chore.ParseSchedule(c.text, c.zone)
		if err != nil {
			t.Errorf("%q %q: %v", c.text, c.zone, err)
			continue
		}
		from, _ := time.Parse(time.RFC3339, c.from)
		if got := s.After(from).Format(time.RFC3339); got != c.next {
			t.Errorf("%q %q after %s: %s, want %s", c.text, c.zone, c.from, got, c.next)
		}
	}
}

func TestBadSchedules(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"", ""}, {"* * * *", ""}, {"* * * * * *", ""}, {"61 * * * *", ""}, {"* * 32 * *", ""}, {"0 0 30 2 *", ""}, {"@every 1s", ""}, {"@reboot", ""},
		{"TZ=UTC * * * * *", ""}, {"CRON_TZ=UTC * * * * *", ""}, {"* * * * x", ""}, {"*/0 * * * *", ""}, {"H * * * *", ""},
		{"* * * * *", "Local"}, {"* * * * *", "../../etc/passwd"}, {"* * * * *", "Nowhere/At_All"}, {"* * * * *", "UTC 0"},
	} {
		if _, err := chore.ParseSchedule(c[0], c[1]); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%q %q: %v", c[0], c[1], err)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add("*/5 8-17 * * 1-5", "Europe/Berlin")
	f.Add("@monthly", "")
	f.Add("0 0 31 2 1", "x")
	f.Fuzz(func(t *testing.T, text, zone string) {
		s, err := chore.ParseSchedule(text, zone)
		if err != nil {
			return
		}
		from := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
		if next := s.After(from); !next.IsZero() && !next.After(from) {
			t.Errorf("%q ticks at %s, which is not after %s", text, next, from)
		}
	})
}
