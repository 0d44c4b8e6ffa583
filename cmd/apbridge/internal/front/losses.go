package front

import (
	"slices"

	"github.com/apbridge/apbridge/mapping"
)

// losses holds the losses with agents of one dialect.
type losses struct {
	Dialect string
	Agents  []string // those that the caller may see
	Clients []clientLosses
}

// clientLosses holds the losses of clients of one dialect.
type clientLosses struct {
	Dialect string
	Lost    []mapping.LossRow // dropped fields, then approximated ones
	Exact   []mapping.LossRow
}

// lossesOf groups the loss table by the dialects of agents. Those of the visible agents are first.
func lossesOf(table []mapping.LossRow, agents []listed) (list []*losses) {
	for _, row := range table {
		l := in(&list, func(l *losses) bool { return l.Dialect == row.To }, func() *losses { return &losses{Dialect: row.To, Agents: speakers(agents, row.To)} })
		l.add(row)
	}
	slices.SortStableFunc(list, func(a, b *losses) int { return min(len(b.Agents), 1) - min(len(a.Agents), 1) })
	return list
}

func (l *losses) add(row mapping.LossRow) {
	i := slices.IndexFunc(l.Clients, func(c clientLosses) bool { return c.Dialect == row.From })
	if i < 0 {
		i, l.Clients = len(l.Clients), append(l.Clients, clientLosses{Dialect: row.From})
	}
	c := &l.Clients[i]
	if row.Fate == mapping.Exact {
		c.Exact = append(c.Exact, row)
		return
	}
	at := len(c.Lost)
	if row.Fate == mapping.Dropped {
		if at = slices.IndexFunc(c.Lost, func(r mapping.LossRow) bool { return r.Fate != mapping.Dropped }); at < 0 {
			at = len(c.Lost)
		}
	}
	c.Lost = slices.Insert(c.Lost, at, row)
}

func speakers(agents []listed, dialect string) (names []string) {
	for _, a := range agents {
		if a.Dialect == dialect {
			names = append(names, a.Name)
		}
	}
	return names
}

// in returns the element of a list for which is returns true. If there is none, it adds one.
func in[T any](list *[]*T, is func(*T) bool, make func() *T) *T {
	if i := slices.IndexFunc(*list, is); i >= 0 {
		return (*list)[i]
	}
	*list = append(*list, make())
	return (*list)[len(*list)-1]
}
