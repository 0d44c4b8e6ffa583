package column

import (
	"math/bits"
	"strconv"
	"strings"
)

// Tuples returns rows × width parameters as "($1,$2),($3,$4)".
func Tuples(rows, width int) string {
	var b strings.Builder
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`(` + List(r*width+1, width) + `)`)
	}
	return b.String()
}

// List returns n parameters from $from on as "$3,$4".
func List(from, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(parts, ",")
}

// filledMost keeps a filled list below the number of parameters that databases take.
const filledMost = 1 << 14

// FilledUp returns values with the last repeated until their number is a power of two. IN does not mind, and lists of
// any length make few texts: connections keep each one prepared.
func FilledUp(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	full := make([]string, max(len(values), min(1<<bits.Len(uint(len(values)-1)), filledMost)))
	for i := copy(full, values); i < len(full); i++ {
		full[i] = values[len(values)-1]
	}
	return full
}

// Page returns LIMIT and OFFSET with the parameters $at and $at+1.
func Page(at int) string {
	return "LIMIT CAST($" + strconv.Itoa(at) + " AS BIGINT) OFFSET CAST($" + strconv.Itoa(at+1) + " AS BIGINT)"
}

// LimitOf returns the parameter of a LIMIT; 0 is none.
//
// Statements write LIMIT CAST($1 AS BIGINT): SQLite looks at a bare bound LIMIT while it plans, and for that plans anew
// at every execution.
func LimitOf(n int) int64 {
	if n <= 0 {
		return 1 << 62
	}
	return int64(n)
}
