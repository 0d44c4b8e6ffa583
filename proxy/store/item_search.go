package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// matching finds the items: the rows to choose from are read with what decides
// alone, since a row costs by its columns, and only those that are taken whole.
func (s *Store) matching(ctx context.Context, q ItemQuery) (rows []*itemRow, err error) {
	where, args := below(tenantOf(ctx), q.Prefix)
	pick := picker{limit: q.Limit, offset: q.Offset}
	if q.Query != "" {
		pick = picker{} // the best are known at the end
	}
	choice := chooser{ItemQuery: q, words: wordsOf(q.Query)}
	err = s.read(ctx, func(t *tx) error {
		rows = nil
		err := t.until(`SELECT `+choice.columns()+` WHERE `+where+` ORDER BY i.namespace, i.item_key`, append(args, t.now), func(scan func(...any) error) (bool, error) {
			ok, err := choice.passes(scan)
			if ok && pick.take() {
				rows = append(rows, choice.take())
			}
			return !pick.full(), errors.Join(err, ctx.Err())
		})
		if err != nil {
			return err
		}
		if q.Query != "" {
			rows = ranked(rows, q)
		}
		return choice.complete(t, rows)
	})
	return rows, err
}

// chooser decides which items a query finds.
type chooser struct {
	ItemQuery
	words []string
	row   itemRow // the one that is being looked at
}

// take returns the row that was looked at last.
func (c *chooser) take() *itemRow {
	row := c.row
	return &row
}

// columns are what the decision needs beside the key; all of them where there is
// nothing to decide.
func (c *chooser) columns() string {
	switch {
	case c.Query != "":
		return `i.id, i.value, i.fields FROM items i`
	case c.Keep != nil:
		return `i.id, i.value FROM items i`
	default:
		return itemColumns
	}
}

func (c *chooser) passes(scan func(...any) error) (ok bool, err error) {
	r := &c.row
	*r = itemRow{}
	switch {
	case c.Query != "":
		err = scan(&r.key, rawOf(&r.Value), rawOf(&r.index))
	case c.Keep != nil:
		err = scan(&r.key, rawOf(&r.Value))
	default:
		return true, r.scan(scan)
	}
	if err != nil || c.Keep != nil && !c.Keep(r.Value) {
		return false, err
	}
	if c.Query == "" {
		return true, nil
	}
	score := share(c.words, mapping.ItemTexts(r.Value, r.index))
	r.Score = &score
	return score > 0, nil
}

// complete reads the rows whole, of which the key and what decided is known.
func (c *chooser) complete(t *tx, rows []*itemRow) error {
	if c.Query == "" && c.Keep == nil {
		return nil
	}
	byKey := make(map[int64]*itemRow, len(rows))
	for _, r := range rows {
		byKey[r.key] = r
	}
	for part := range slices.Chunk(rows, rowsAtOnce) {
		keys := make(in, len(part))
		for i, r := range part {
			keys[i] = r.key
		}
		err := t.each(`SELECT `+itemColumns+` WHERE i.id IN (`+list(1, len(keys))+`)`, keys, func(scan func(...any) error) error {
			var whole itemRow
			err := whole.scan(scan)
			if r := byKey[whole.key]; r != nil {
				whole.Score = r.Score
				*r = whole
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
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
