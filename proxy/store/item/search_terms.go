package item

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/textindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// searchTerms are what an item tells searches of its value. They are made before the value is written, and stand in the
// item's row and in rows of its own.
//
// Where bodies are sealed, the rows of tokens have what sqldb.Tx.Blinded makes of them, by which they are found as
// well. There are no members: stretches of them are asked for, which shows what they are.
type searchTerms struct {
	tokens  textindex.Bag
	members memberList
	read    *sqldb.Body // where tokens came from; nil: they were made now
	sealing bool        // with that they were made
}

func newSearchTerms(value, index json.RawMessage, sealing bool) searchTerms {
	o := searchTerms{tokens: textindex.NewBag(itemquery.ItemTexts(value, index)), sealing: sealing}
	if !sealing {
		o.members = newMemberList(itemquery.ItemMembers(value))
	}
	return o
}

// columns are where the columns tokens and members of an item go.
func (o *searchTerms) columns(of *itemName) sqldb.Out {
	o.read = of.unsealed((*[]byte)(&o.tokens), itemTokens)
	return sqldb.Out{o.read, (*[]byte)(&o.members)}
}

// blind reports whether the rows of the tokens are blinded: if the list of them is sealed.
func (o searchTerms) blind() bool {
	return len(o.tokens) > 0 && (o.sealing || o.read != nil && o.read.Sealed)
}

// row is a token as it stands in its row.
func (o searchTerms) row(t *sqldb.Tx, token string) string {
	if !o.blind() {
		return token
	}
	return blinded(t, token)
}

func blinded(t *sqldb.Tx, token string) string {
	if token == anyToken {
		return token
	}
	return t.Blinded(token)
}

// sought is a token as a search looks for it.
func sought(t *sqldb.Tx, token string) string {
	if !t.Sealing() {
		return token
	}
	return blinded(t, token)
}

func (o searchTerms) equal(p searchTerms) bool {
	return o.sameTokens(p) && bytes.Equal(o.members, p.members)
}

func (o searchTerms) sameTokens(p searchTerms) bool {
	return o.blind() == p.blind() && bytes.Equal(o.tokens, p.tokens)
}

// add writes the rows of an item that has none.
func (n itemName) add(t *sqldb.Tx, fresh searchTerms) error {
	if err := n.addTokens(t, fresh); err != nil {
		return err
	}
	return n.addMembers(t, fresh.members)
}

// replaceTerms gives an item what its value tells in place of what an earlier one did.
func (n itemName) replaceTerms(t *sqldb.Tx, old, fresh searchTerms) error {
	if err := n.retoken(t, old, fresh); err != nil {
		return err
	}
	return n.relist(t, old.members, fresh.members)
}

// removeTerms goes with the removal of an item.
func (n itemName) removeTerms(t *sqldb.Tx, old searchTerms) error {
	return errors.Join(n.removeTokens(t, old), n.removeMembers(t, old.members))
}
