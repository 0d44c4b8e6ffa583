package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// matching finds the items. Of a row that is looked at only what decides is read,
// since a row costs by its columns, and the whole of one that is taken. Values are kept up to
// itemsAtOnce; what is behind that is to be read again (see SearchItems).
func (s *items) matching(ctx context.Context, q ItemQuery) (rows []*itemRow, err error) {
	where, args := below(tenantOf(ctx), q.Prefix)
	pick := picker{limit: q.Limit, offset: q.Offset}
	if q.Query != "" {
		pick = picker{} // the best are known at the end
	}
	choice := chooser{ItemQuery: q, words: wordsOf(q.Query)}
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		rows = nil
		kept := 0
		return t.Until(`SELECT `+itemColumns+` WHERE `+where+` ORDER BY i.namespace, i.item_key`, append(args, t.Now), func(scan func(...any) error) (bool, error) {
			ok, err := choice.passes(scan)
			if ok && pick.take() {
				var row *itemRow
				row, err = choice.take(scan)
				if kept += len(row.Value); kept > itemsAtOnce && len(rows) > 0 {
					row.Value, row.index, row.unread = nil, nil, true
				}
				rows = append(rows, row)
			}
			return !pick.full(), errors.Join(err, ctx.Err())
		})
	})
	if err != nil || q.Query == "" {
		return rows, err
	}
	return ranked(rows, q), nil
}

// chooser decides which items a query finds.
type chooser struct {
	ItemQuery
	words []string
	// Of the row that is being looked at:
	value sqldb.Buffer
	index json.RawMessage
	score float64
}

// take reads the row that was looked at last.
func (c *chooser) take(scan func(...any) error) (*itemRow, error) {
	row := new(itemRow)
	if c.Query != "" {
		score := c.score
		row.Score = &score
	}
	return row, row.scan(scan)
}

func (c *chooser) passes(scan func(...any) error) (ok bool, err error) {
	if c.Query == "" && c.Keep == nil {
		return true, nil
	}
	if err := scan(&c.value, rawOf(&c.index), nil, nil, nil, nil, nil, nil, nil, nil); err != nil || c.Keep != nil && !c.Keep(json.RawMessage(c.value)) {
		return false, err
	}
	if c.Query == "" {
		return true, nil
	}
	c.score = share(c.words, rule.ItemTexts(json.RawMessage(c.value), c.index))
	return c.score > 0, nil
}

func ranked(rows []*itemRow, q ItemQuery) []*itemRow {
	slices.SortStableFunc(rows, func(a, b *itemRow) int {
		switch {
		case *a.Score > *b.Score:
			return -1
		case *a.Score < *b.Score:
			return 1
		}
		return 0
	})
	rows = rows[min(q.Offset, len(rows)):]
	if q.Limit > 0 {
		rows = rows[:min(q.Limit, len(rows))]
	}
	return rows
}

func wordsOf(query string) []string { return strings.Fields(strings.ToLower(query)) }

// share is how many of the words stand in the texts.
func share(words, texts []string) float64 {
	text, found := strings.ToLower(strings.Join(texts, "\n")), 0
	for _, w := range words {
		if strings.Contains(text, w) {
			found++
		}
	}
	return float64(found) / float64(max(len(words), 1))
}
