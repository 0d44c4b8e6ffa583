package limit

import (
	"fmt"
	"math"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// The limits other than those of tables.Quotas, as named in the configuration.
const (
	Requests = "requests"
	Runs     = "runs"
	Streams  = "streams"
	Upload   = "upload"
)

// Names returns the names of all limits, including those of tables.Quotas.
func Names() []string {
	return []string{Requests, Runs, Streams, Upload, tables.QuotaThreads, tables.QuotaCrons, tables.QuotaItems, tables.QuotaFiles, tables.QuotaDisk}
}

// subject is a key or a tenant with its allowance.
type subject struct {
	of, name string
	config.Allowance
}

// String returns the subject for messages.
func (s subject) String() string {
	if s.of == tables.QuotaOfTenant && s.name == "" {
		return "The tenant without a name"
	}
	return fmt.Sprintf("%s %q", map[string]string{tables.QuotaOfKey: "Key", tables.QuotaOfTenant: "Tenant"}[s.of], s.name)
}

// place returns the configuration key of the limit.
func (s subject) place(limit string) string {
	if s.of == tables.QuotaOfKey {
		return "auth.keys[].limits." + limit
	}
	return "limits.tenant." + limit + ", or that of limits.tenants"
}

// rate is n per span. n is 0 for no limit.
type rate struct {
	n    int64
	span time.Duration
}

// cost returns the time in which the rate grows by k.
func (r rate) cost(k int64) time.Duration {
	return time.Duration(float64(r.span) * float64(k) / float64(r.n))
}

// worth returns the growth of the rate in a time.
func (r rate) worth(long time.Duration) int64 {
	return int64(float64(r.n) * float64(long) / float64(r.span))
}

func (s subject) rate(limit string) (r rate) {
	switch limit {
	case Requests:
		r.n, r.span = s.Requests.Split()
	case Runs:
		r.n, r.span = s.Runs.Split()
	case Upload:
		r.n, r.span = s.Upload.Split()
	}
	return r
}

// nouns name the counted objects in messages.
var nouns = map[string]string{Requests: "requests", Runs: "runs", Upload: "bytes of bodies"}

func (s subject) overRate(limit string, r rate, wait time.Duration) error {
	e := mapping.Errorf(mapping.Limited, code(limit), "%s may have %d %s in %s (%s) and has used them up. Try again in %d seconds.",
		s, r.n, nouns[limit], spanName(r.span), s.place(limit), seconds(wait))
	e.Wait = wait
	return &Refused{Limit: limit, Of: s.of, err: e}
}

func (s subject) overOnce(limit string, r rate, n int64) error {
	e := mapping.Errorf(mapping.Limited, code(limit), "The request asks for %d %s at once, but %s may have only %d in %s (%s). Request fewer.",
		n, nouns[limit], s, r.n, spanName(r.span), s.place(limit))
	e.Wait = mapping.NoWait
	return &Refused{Limit: limit, Of: s.of, err: e}
}

func (s subject) overStreams() error {
	e := mapping.Errorf(mapping.Limited, code(Streams), "%s may have %d streams open at once (%s) and already has that many. Close one that is not needed.",
		s, s.Streams, s.place(Streams))
	return &Refused{Limit: Streams, Of: s.of, err: e}
}

// code returns the code of refusals.
func code(limit string) string { return "limit_" + limit }

func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }

func spanName(d time.Duration) string {
	switch d {
	case time.Second:
		return "a second"
	case time.Minute:
		return "a minute"
	case time.Hour:
		return "an hour"
	}
	return "a day"
}

// Refused is a refusal because of a limit: a *mapping.Error of class Limited with its limit.
type Refused struct {
	Limit, Of string
	err       error
}

func (r *Refused) Error() string { return r.err.Error() }

// Unwrap returns the *mapping.Error.
func (r *Refused) Unwrap() error { return r.err }
