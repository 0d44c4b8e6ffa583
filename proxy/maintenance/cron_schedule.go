package maintenance

import (
	"strings"
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"github.com/apbridge/apbridge/mapping"
	"github.com/netresearch/go-cron"
)

// Schedule describes when a cron ticks. If the time zone changes its clock, the rules of cron(8) apply: a schedule with
// fixed times ticks once for each of them: in the first of two equal hours, or right after a skipped hour. Other
// schedules, with * in the minute or the hour, tick whenever the zone's clock matches.
type Schedule struct {
	ticks cron.Schedule
	fixed *time.Location // for fixed times, whose ticks are computed as if the zone were UTC; nil if not fixed
}

// The fields of a schedule are those of crontab(5). If both a day of month and a day of week are given, either one
// matches.
var scheduleParser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom)

// ParseSchedule parses the five fields of crontab(5), or @hourly, @daily, @weekly, @monthly, @yearly, in a time zone of
// the IANA database ("" means UTC). It returns Invalid if the text cannot be parsed or the schedule never ticks.
func ParseSchedule(text, zone string) (Schedule, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "@every") || strings.Contains(text, "=") || len(text) > 200 {
		return Schedule{}, badSchedule(text)
	}
	where := time.UTC
	if zone != "" {
		var err error
		if where, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return Schedule{}, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "timezone %q is unknown; use a name like Europe/Berlin.", zone)
		}
	}
	s, read := Schedule{}, where
	if hasFixedTimes(text) {
		s.fixed, read = where, time.UTC
	}
	var err error
	if s.ticks, err = scheduleParser.Parse("CRON_TZ=" + read.String() + " " + text); err != nil {
		return Schedule{}, badSchedule(text)
	}
	if s.After(time.Now()).IsZero() {
		return Schedule{}, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "schedule %q never ticks.", text)
	}
	return s, nil
}

func badSchedule(text string) error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
		"schedule %q cannot be read: five fields are needed, as in \"0 8 * * 1-5\" (minute, hour, day of month, month, day of week), or @hourly, @daily, @weekly, @monthly or @yearly.",
		text[:min(len(text), 200)])
}

// hasFixedTimes reports whether a schedule specifies its minutes and hours. Most descriptors do.
func hasFixedTimes(text string) bool {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return text != "@hourly"
	}
	return !strings.ContainsAny(fields[0][:1]+fields[1][:1], "*?")
}

// After returns the first tick after a time, or zero if there is none.
func (s Schedule) After(at time.Time) time.Time {
	if s.fixed == nil {
		return inUTC(s.ticks.Next(at))
	}
	for shown := clockIn(s.fixed, at); ; {
		if shown = s.ticks.Next(shown); shown.IsZero() {
			return shown
		}
		if next := firstShowing(s.fixed, shown); next.After(at) {
			return next.UTC()
		}
	}
}

func inUTC(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// clockIn returns the local time of a zone, represented as a time in UTC.
func clockIn(zone *time.Location, at time.Time) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// firstShowing returns the time at which the zone's clock first shows a local time or has skipped it.
func firstShowing(zone *time.Location, shown time.Time) time.Time {
	for period := shown.Add(-26 * time.Hour).In(zone); ; { // no zone is that far from UTC
		_, offset := period.Zone()
		at := shown.Add(-time.Duration(offset) * time.Second)
		start, end := period.ZoneBounds()
		switch {
		case at.Before(start):
			return start
		case end.IsZero() || at.Before(end):
			return at
		}
		period = end
	}
}
