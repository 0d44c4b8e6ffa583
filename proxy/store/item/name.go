package item

import (
	"bytes"
	"cmp"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// itemName identifies an item.
type itemName struct {
	tenant    string
	namespace []byte // see pathOf
	key       string
}

// The columns of items that are sealed if the bridge has keys (sqldb.Tx.Sealed).
const (
	itemValue   = "items.value"
	itemTokens  = "items.tokens"
	itemVectors = "item_vectors.vectors"
)

// sealed returns a body of the item as the parameter for one of these columns.
func (n itemName) sealed(t *sqldb.Tx, body []byte, column string) any {
	return t.Sealed(body, column, n.tenant, n.namespace, n.key)
}

// unsealed returns the destination for such a column. The item's name is known or scanned from the same row.
func (n *itemName) unsealed(to any, column string) *sqldb.Body {
	return sqldb.Unsealed(to, column, &n.tenant, &n.namespace, &n.key)
}

func (n itemName) args(more ...any) sqldb.In {
	return append(sqldb.In{n.tenant, n.namespace, n.key}, more...)
}

// id identifies an item within its tenant. Ids sort like names.
func (n itemName) id() string { return string(n.namespace) + "\x00" + n.key }

func (n itemName) compare(m itemName) int {
	return cmp.Or(bytes.Compare(n.namespace, m.namespace), strings.Compare(n.key, m.key))
}

// namesAtOnce is the number of items read by name in one statement if each statement is a round trip to a server.
const namesAtOnce = 128

// namesTogether returns how many names go into one statement. On SQLite, which has no round trips, single lookups are
// as fast.
func namesTogether(t *sqldb.Tx) int {
	if t.Shared() {
		return namesAtOnce
	}
	return 1
}

// namedParts returns conditions for live items with the given names. The parts are in the order of the names.
func namedParts(t *sqldb.Tx, names []itemName) (parts []part) {
	for len(names) > 0 {
		n := min(namesTogether(t), len(names))
		parts, names = append(parts, named(names[:n])), names[n:]
	}
	return parts
}

// named returns the condition for some live items.
func named(names []itemName) part {
	where, args := namedIn("i", names)
	return part{where + ` AND ` + live(len(args)+1), args}
}

// namedIn makes the database look up each name separately, regardless of its estimate of the number of items. The
// number of names is padded to a power of two to keep the number of different statements small, because connections
// keep each one prepared.
func namedIn(table string, names []itemName) (where string, args sqldb.In) {
	var either []string
	for i := range 1 << bits.Len(uint(len(names)-1)) {
		p := func(n int) string { return `$` + strconv.Itoa(3*i+n) }
		either = append(either, strings.ReplaceAll(`(i.tenant = `+p(1)+` AND i.namespace = `+p(2)+` AND i.item_key = `+p(3)+`)`, "i.", table+"."))
		args = append(args, names[min(i, len(names)-1)].args()...)
	}
	return `(` + strings.Join(either, ` OR `) + `)`, args
}
