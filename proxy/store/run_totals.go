package store

import (
	"math"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// putTotals writes the totals of a run. Costs are rare, so only a run with a cost needs the sum over its task.
func putTotals(t *sqldb.Tx, at runKey, n *mapping.RunTotals) error {
	columns, err := totalColumns(t, at, n)
	if err != nil || columns[0] == nil {
		return err
	}
	return t.Put(`UPDATE runs SET steps = $2, input_tokens = $3, output_tokens = $4, cost_micros = $5 WHERE id = $1`,
		at.Run, columns[0], columns[1], columns[2], columns[3])
}

// totalColumns returns the values of the columns steps, input_tokens, output_tokens and cost_micros. They are nil if
// there are no totals to write.
func totalColumns(t *sqldb.Tx, at runKey, n *mapping.RunTotals) (columns [4]any, err error) {
	if n == nil || *n == (mapping.RunTotals{}) {
		return columns, nil
	}
	cost := microsOf(n.Cost)
	if cost > 0 {
		var others int64
		err = t.Get(`SELECT coalesce(sum(cost_micros), 0) FROM runs WHERE task = (SELECT task FROM runs WHERE id = $1) AND id <> $1`, sqldb.In{at.Run}, sqldb.Out{&others})
		if err != nil {
			return columns, err
		}
		if cost >= others { // otherwise the agent has begun to count from 0 again
			cost -= others
		}
	}
	return [4]any{n.Steps, n.Input, n.Output, cost}, nil
}

// maxDollars bounds a cost that an agent reports, so that sums fit in 64 bits.
const maxDollars = 1e6

func microsOf(dollars float64) int64 {
	return int64(math.Round(1e6 * min(max(dollars, 0), maxDollars)))
}

func dollarsOf(micros int64) float64 { return float64(micros) / 1e6 }
