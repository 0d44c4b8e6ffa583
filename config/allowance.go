package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Allowance limits the usage of a key or a tenant. Zero means no limit.
type Allowance struct {
	// Requests and Runs are limited per span of time. All of them may arrive in one burst.
	Requests Rate `yaml:"requests"`
	Runs     Rate `yaml:"runs"` // created by requests or crons
	// Streams limits streams, including WebSockets, that are open at once in one bridge.
	Streams int `yaml:"streams"`
	// Upload limits the bytes in request bodies.
	Upload ByteRate `yaml:"upload"`

	// Quotas for stored objects.
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

// Rate is a number per span of time in the form of the file: 100/s, 10/m. "" means no limit.
type Rate string

// ByteRate is a Rate of bytes, such as 10MiB/s.
type ByteRate string

// Split returns the number per span. It is zero if there is no limit. The Rate must be valid.
func (r Rate) Split() (n int64, span time.Duration) {
	n, span, _ = splitRate(string(r), wholeNumber)
	return n, span
}

// Split returns the bytes per span. They are zero if there is no limit. The ByteRate must be valid.
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

// mostOfRate prevents overflows in calculations with rates.
const mostOfRate = 1 << 40

// splitRate reads N/SPAN. "0" means no limit, like "".
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

// checkAllowance refuses negative values. Rates are checked by the decoder.
func (r *report) checkAllowance(at string, a Allowance) {
	r.atLeast(at+".streams", int64(a.Streams), 0)
	r.atLeast(at+".threads", int64(a.Threads), 0)
	r.atLeast(at+".crons", int64(a.Crons), 0)
	r.atLeast(at+".items", int64(a.Items), 0)
	r.atLeast(at+".files", int64(a.Files), 0)
}
