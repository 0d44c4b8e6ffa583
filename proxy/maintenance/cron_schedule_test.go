package maintenance_test

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/maintenance"
)

func TestSchedules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, zone, from, next string }{
		{"* * * * *", "", "2026-11-21T08:00:00Z", "2026-11-21T08:01:00Z"},
		{"0 8 * * *", "", "2026-11-21T08:00:00Z", "2026-11-22T08:00:00Z"},
		{"*/15 * * * *", "UTC", "2026-11-21T08:01:02Z", "2026-11-21T08:15:00Z"},
		{" 30 9 * * mon-FRI ", "", "2026-11-21T08:00:00Z", "2026-11-23T09:30:00Z"},
		{"0 0 13 * 5", "", "2026-11-21T08:00:00Z", "2026-11-27T00:00:00Z"}, // either one matches: a Friday
		{"0 0 29 2 *", "", "2026-11-21T08:00:00Z", "2028-02-29T00:00:00Z"},
		{"@daily", "", "2026-11-21T08:00:00Z", "2026-11-22T00:00:00Z"},
		{"0 8 * * *", "Asia/Tokyo", "2026-11-21T08:00:00Z", "2026-11-21T23:00:00Z"},
		{"0 8 * * *", "America/New_York", "2026-11-21T08:00:00Z", "2026-11-21T13:00:00Z"},
		{"0 8 * * *", "Europe/Berlin", "2026-10-24T06:00:00Z", "2026-10-25T07:00:00Z"}, // summer time ends
		// When summer time ends, 02:00 to 03:00 occurs twice: fixed times tick in the first hour, others in both.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"15,45 1-3 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", "2026-10-25T02:15:00Z"},
		{"0 2 * * 0", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-11-01T01:00:00Z"},
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"*/30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"},
		{"@hourly", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"@daily", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"30 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:30:00Z", "2026-04-05T15:00:00Z"}, // shifts by half an hour
		{"30 0 * * *", "America/Havana", "2026-11-01T04:30:00Z", "2026-11-02T05:30:00Z"},
		// When it begins, 02:00 to 03:00 is skipped: fixed times tick right after.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"10,40 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:10:00Z"},
		{"30 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		{"30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"@daily", "America/Havana", "2026-03-07T06:00:00Z", "2026-03-08T05:00:00Z"},   // there is no midnight
		{"0 12 * * *", "Pacific/Apia", "2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z"}, // there is no 30 December
		{"0 12 * * *", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
	} {
		s, err := maintenance.ParseSchedule(c.text, c.zone)
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
		if _, err := maintenance.ParseSchedule(c[0], c[1]); mapping.Classify(err).Class != mapping.Invalid {
			t.Errorf("%q %q: %v", c[0], c[1], err)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add("*/5 8-17 * * 1-5", "Europe/Berlin")
	f.Add("@monthly", "")
	f.Add("0 0 31 2 1", "x")
	f.Fuzz(func(t *testing.T, text, zone string) {
		s, err := maintenance.ParseSchedule(text, zone)
		if err != nil {
			return
		}
		from := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
		if next := s.After(from); !next.IsZero() && !next.After(from) {
			t.Errorf("%q ticks at %s, which is not after %s", text, next, from)
		}
	})
}

// A schedule of a fixed time ticks once per day of its zone, regardless of changes of the zone's clock.
func TestAFixedTimeTicksOnceADay(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"", "Europe/Berlin", "America/New_York", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Chatham", "Asia/Kolkata"} {
		for _, text := range []string{"0 0 * * *", "30 1 * * *", "15 2 * * *", "45 23 * * *", "@daily"} {
			s, err := maintenance.ParseSchedule(text, zone)
			if err != nil {
				t.Fatal(err)
			}
			where, _ := time.LoadLocation(zone)
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, where).Add(-time.Second)
			for day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == 2026; day = day.AddDate(0, 0, 1) {
				at = s.After(at)
				if got := at.In(where).Format(time.DateOnly); got != day.Format(time.DateOnly) {
					t.Fatalf("%q %q ticks at %v, and not on %s", text, zone, at.In(where), day.Format(time.DateOnly))
				}
			}
		}
	}
}
