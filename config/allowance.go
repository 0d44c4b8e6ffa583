package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Allowance is how much a key or a tenant may use; what is zero is not bounded.
type Allowance struct {
	// Rates: what may come in a span of time. A whole span's worth may come at once.
	Requests Rate `yaml:"requests"`
	Runs     Rate `yaml:"runs"` // that are made, by whatever request or cron
	// Streams that are open at once, WebSockets among them, in one bridge.
	Streams int `yaml:"streams"`
	// Upload is of the bytes of requests' bodies.
	Upload ByteRate `yaml:"upload"`

	// Quotas: what may be there at once.
	Threads int   `yaml:"threads"`
	Crons   int   `yaml:"crons"`
	Items   int   `yaml:"items"`
	Files   int   `yaml:"files"`
	Disk    Bytes `yaml:"disk"` // of files and of items' values
}

// AllowanceOf returns the allowance of a tenant: its own entry of Tenants, or else Tenant.
func (l Limits) AllowanceOf(tenant string) Allowance {
	if own, ok := l.Tenants[tenant]; ok {
		return own
	}
	return l.Tenant
}

// Rate is a number per span of time, as files write it: 100/s, 10/m. "" is any number.
type Rate string

// ByteRate is a Rate of bytes, such as 10MiB/s.
type ByteRate string

// Split returns how many may come in which span; zero is any number. The Rate is a valid one.
func (r Rate) Split() (n int64, span time.Duration) {
	n, span, _ = splitRate(string(r), wholeNumber)
	return n, span
}

// Split returns how many bytes may come in which span; zero is any number. The ByteRate is a valid one.
func (r ByteRate) Split() (n int64, span time.Duration) {
	n, span, _ = splitRate(string(r), sizeOf)
	return n, span
}

func parseRate(s string) (Rate, error) {
	_, _, err := splitRate(s, wholeNumber)
	return Rate(s), err
}

func parseByteRate(s string) (ByteRate, error) {
	_, _, err := splitRate(s, sizeOf)
	return ByteRate(s), err
}

var spans = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day}

// mostOfRate keeps what is reckoned with rates far from the ends of its numbers.
const mostOfRate = 1 << 40

// splitRate reads N/SPAN. "0" is no bound, as "" is.
func splitRate(s string, number func(string) (int64, error)) (n int64, span time.Duration, err error) {
	if s == "" || s == "0" {
		return 0, 0, nil
	}
	amount, unit, _ := strings.Cut(s, "/")
	span, known := spans[strings.TrimSpace(unit)]
	n, err = number(strings.TrimSpace(amount))
	if err != nil || !known || n < 1 || n > mostOfRate {
		return 0, 0, fmt.Errorf("not a rate: %q", s)
	}
	return n, span, nil
}

func wholeNumber(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

func sizeOf(s string) (int64, error) {
	b, err := parseBytes(s)
	return int64(b), err
}

// checkAllowance refuses what is below zero. Rates are checked as they are read.
func (r *report) checkAllowance(at string, a Allowance) {
	r.atLeast(at+".streams", int64(a.Streams), 0)
	r.atLeast(at+".threads", int64(a.Threads), 0)
	r.atLeast(at+".crons", int64(a.Crons), 0)
	r.atLeast(at+".items", int64(a.Items), 0)
	r.atLeast(at+".files", int64(a.Files), 0)
}
