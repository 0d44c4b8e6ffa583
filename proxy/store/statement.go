package store

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// tuples returns rows × width parameters as "($1,$2),($3,$4)".
func tuples(rows, width int) string {
	var b strings.Builder
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`(` + sqldb.Params(r*width+1, width) + `)`)
	}
	return b.String()
}

// filledMost keeps a padded list below the maximum number of parameters of the databases.
const filledMost = 1 << 14

// filledUp returns values, padded with the last one until their number is a power of two. IN ignores duplicates, and
// lists of any length then need few statements. Connections keep each statement prepared.
func filledUp(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	full := make([]string, max(len(values), min(1<<bits.Len(uint(len(values)-1)), filledMost)))
	for i := copy(full, values); i < len(full); i++ {
		full[i] = values[len(values)-1]
	}
	return full
}

// limitOffset returns LIMIT and OFFSET with the parameters $at and $at+1.
func limitOffset(at int) string {
	return "LIMIT CAST($" + strconv.Itoa(at) + " AS BIGINT) OFFSET CAST($" + strconv.Itoa(at+1) + " AS BIGINT)"
}
