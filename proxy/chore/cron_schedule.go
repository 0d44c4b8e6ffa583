package chore

import (
	"strings"
	"time"
	_ "time/tzdata" // the binary also runs where there is no zone database

	"github.com/apbridge/apbridge/mapping"
	"github.com/netresearch/go-cron"
)

// Schedule is when a cron ticks.
type Schedule struct{ ticks cron.Schedule }

// fields of a schedule: those of crontab(5), which is also how it reads a day of month beside a day of week: either
// will do.
var scheduleParser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom)

// ParseSchedule reads the five fields of crontab(5), or @hourly, @daily, @weekly, @monthly, @yearly, in a time zone of
// the IANA database ("": UTC). A schedule that never ticks is Invalid, as is everything else it cannot read.
func ParseSchedule(text, zone string) (Schedule, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "@every") || strings.Contains(text, "=") || len(text) > 200 {
		return Schedule{}, badSchedule(text)
	}
	where := time.UTC
	if zone != "" {
		var err error
		if where, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return Schedule{}, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "timezone %q is not known; use a name like Europe/Berlin.", zone)
		}
	}
	ticks, err := scheduleParser.Parse("CRON_TZ=" + where.String() + " " + text)
	if err != nil {
		return Schedule{}, badSchedule(text)
	}
	s := Schedule{ticks}
	if s.After(time.Now()).IsZero() {
		return Schedule{}, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "schedule %q never comes.", text)
	}
	return s, nil
}

func badSchedule(text string) error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
		"schedule %q cannot be read: five fields are needed, as in \"0 8 * * 1-5\" (minute, hour, day of month, month, day of week), or @hourly, @daily, @weekly, @monthly or @yearly.",
		text[:min(len(text), 200)])
}

// After returns the first tick after a time; zero when there is none.
func (s Schedule) After(at time.Time) time.Time {
	next := s.ticks.Next(at)
	if next.IsZero() {
		return next
	}
	return next.UTC()
}
