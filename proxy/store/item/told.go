package item

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/textindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// told is what an item tells searches of its value. It is made before the value is written, and
// stands in the item's row and in rows of its own.
type told struct {
	tokens  textindex.Bag
	members memberList
}

func newTold(value, index json.RawMessage) told {
	return told{textindex.NewBag(rule.ItemTexts(value, index)), newMemberList(rule.ItemMembers(value))}
}

// columns are where the columns tokens and members go.
func (o *told) columns() out { return out{(*[]byte)(&o.tokens), (*[]byte)(&o.members)} }

func (o told) equal(p told) bool {
	return bytes.Equal(o.tokens, p.tokens) && bytes.Equal(o.members, p.members)
}

// add writes the rows of an item that has none.
func (n itemName) add(t *sqldb.Tx, fresh told) error {
	if err := n.addTokens(t, fresh.tokens); err != nil {
		return err
	}
	return n.addMembers(t, fresh.members)
}

// retell gives an item what its value tells in place of what an earlier one did.
func (n itemName) retell(t *sqldb.Tx, old, fresh told) error {
	if err := n.retoken(t, old.tokens, fresh.tokens); err != nil {
		return err
	}
	return n.relist(t, old.members, fresh.members)
}

// removeTold goes with the removal of an item.
func (n itemName) removeTold(t *sqldb.Tx, old told) error {
	return errors.Join(n.removeTokens(t, old.tokens), n.removeMembers(t, old.members))
}
