package item

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/mapping/textindex"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// searchTerms holds the search entries of an item's value. They are computed before the value is written, and stored
// both in the item's row and in separate rows.
//
// If bodies are sealed, the rows of tokens contain digests (sqldb.Tx.Blinded), which can be searched in the same way.
// There are no members, because searches of ranges would reveal their values.
type searchTerms struct {
	tokens  textindex.Bag
	members memberList
	read    *sqldb.Body // where tokens were scanned from; nil if they were computed
	sealing bool        // whether they were computed for sealed bodies
}

func newSearchTerms(value, index json.RawMessage, sealing bool) searchTerms {
	o := searchTerms{tokens: textindex.NewBag(itemquery.ItemTexts(value, index)), sealing: sealing}
	if !sealing {
		o.members = newMemberList(itemquery.ItemMembers(value))
	}
	return o
}

// columns returns the destinations for the columns tokens and members of an item.
func (o *searchTerms) columns(of *itemName) sqldb.Out {
	o.read = of.unsealed((*[]byte)(&o.tokens), itemTokens)
	return sqldb.Out{o.read, (*[]byte)(&o.members)}
}

// blind reports whether the rows of the tokens are blinded, which is the case if their list is sealed.
func (o searchTerms) blind() bool {
	return len(o.tokens) > 0 && (o.sealing || o.read != nil && o.read.Sealed)
}

// row returns a token as stored in its row.
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

// sought returns a token as used in a search.
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

// replaceTerms replaces the search entries of an item.
func (n itemName) replaceTerms(t *sqldb.Tx, old, fresh searchTerms) error {
	if err := n.retoken(t, old, fresh); err != nil {
		return err
	}
	return n.relist(t, old.members, fresh.members)
}

// removeTerms removes the rows of a removed item.
func (n itemName) removeTerms(t *sqldb.Tx, old searchTerms) error {
	return errors.Join(n.removeTokens(t, old), n.removeMembers(t, old.members))
}
