package item

import (
	"bytes"
	"cmp"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// itemName is where an item stands.
type itemName struct {
	tenant    string
	namespace []byte // see pathOf
	key       string
}

// The columns of items whose bodies are sealed where the bridge has keys (sqldb.Tx.Sealed).
const (
	itemValue   = "items.value"
	itemTokens  = "items.tokens"
	itemVectors = "item_vectors.vectors"
)

// sealed is a body of the item as the parameter of one of these columns.
func (n itemName) sealed(t *sqldb.Tx, body []byte, column string) any {
	return t.Sealed(body, column, n.tenant, n.namespace, n.key)
}

// unsealed is where such a column goes, in a row that is read with the item's name or has it already.
func (n *itemName) unsealed(to any, column string) *sqldb.Body {
	return sqldb.Unsealed(to, column, &n.tenant, &n.namespace, &n.key)
}

func (n itemName) args(more ...any) sqldb.In {
	return append(sqldb.In{n.tenant, n.namespace, n.key}, more...)
}

// id names an item among those of its tenant. Ids have the order of names.
func (n itemName) id() string { return string(n.namespace) + "\x00" + n.key }

func (n itemName) compare(m itemName) int {
	return cmp.Or(bytes.Compare(n.namespace, m.namespace), strings.Compare(n.key, m.key))
}

// namesAtOnce is how many items are read by their names in one statement where each is a way to a server and back.
const namesAtOnce = 128

// namesTogether is how many names go into one statement. SQLite, which is no way off, looks for one as quickly.
func namesTogether(t *sqldb.Tx) int {
	if t.Shared() {
		return namesAtOnce
	}
	return 1
}

// namedParts are the conditions of live items with names, in their order: all of one part stand before those of the
// next.
func namedParts(t *sqldb.Tx, names []itemName) (parts []part) {
	for len(names) > 0 {
		n := min(namesTogether(t), len(names))
		parts, names = append(parts, named(names[:n])), names[n:]
	}
	return parts
}

// named is the condition of some live items.
func named(names []itemName) part {
	where, args := namedIn("i", names)
	return part{where + ` AND ` + live(len(args)+1), args}
}

// namedIn has a database look for each name by itself, whatever it believes of how many items a tenant has. Few lengths
// make few texts: connections keep each one prepared.
func namedIn(table string, names []itemName) (where string, args sqldb.In) {
	var either []string
	for i := range 1 << bits.Len(uint(len(names)-1)) {
		p := func(n int) string { return `$` + strconv.Itoa(3*i+n) }
		either = append(either, strings.ReplaceAll(`(i.tenant = `+p(1)+` AND i.namespace = `+p(2)+` AND i.item_key = `+p(3)+`)`, "i.", table+"."))
		args = append(args, names[min(i, len(names)-1)].args()...)
	}
	return `(` + strings.Join(either, ` OR `) + `)`, args
}
