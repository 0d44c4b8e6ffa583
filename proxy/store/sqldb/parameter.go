package sqldb

import (
	"strconv"
	"strings"
	"time"
)

// In holds the parameters of a statement, and Out the destinations of its columns.
type (
	In  = []any
	Out = []any
)

// Micros returns a time as stored in a column: microseconds UTC, 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Number returns a bool as stored in a column: 1 for true, 0 for false.
func Number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Params returns n parameters starting at $from, like "$3,$4".
func Params(from, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(parts, ",")
}

// LimitOf returns the parameter for a LIMIT. 0 means no limit.
//
// Statements write LIMIT CAST($1 AS BIGINT), because SQLite inspects a bare bound LIMIT while planning and would then
// plan again at every execution.
func LimitOf(n int) int64 {
	if n <= 0 {
		return 1 << 62
	}
	return int64(n)
}
