package item

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// anyToken takes the place of the token in a row that each item with tokens has.
const anyToken = ""

// retoken replaces the tokens of an item. The caller has locked the item's row, so no other process does the same, and
// the token rows always agree with the item's row.
func (n itemName) retoken(t *sqldb.Tx, old, fresh searchTerms) error {
	if old.sameTokens(fresh) {
		return nil
	}
	if err := n.removeTokens(t, old); err != nil {
		return err
	}
	if err := n.addTokens(t, fresh); err != nil {
		return err
	}
	return t.Put(`UPDATE items SET tokens = $4 WHERE tenant = $1 AND namespace = $2 AND item_key = $3`, n.args(n.sealed(t, fresh.tokens, itemTokens))...)
}

func (n itemName) addTokens(t *sqldb.Tx, fresh searchTerms) error {
	words := fresh.tokens.Words()
	if words == 0 {
		return nil
	}
	for token, count := range fresh.tokens.Counts() {
		if err := n.addToken(t, fresh.row(t, token), 1_000_000*count/words); err != nil {
			return err
		}
	}
	return n.addToken(t, anyToken, 0)
}

// addToken overwrites existing rows, because an older version still in use does not remove the tokens of items that it
// deletes.
func (n itemName) addToken(t *sqldb.Tx, token string, share int) error {
	return t.Put(`INSERT INTO item_tokens (tenant, namespace, item_key, token, share) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (tenant, token, namespace, item_key) DO UPDATE SET share = excluded.share`, n.args(token, share)...)
}

func (n itemName) removeTokens(t *sqldb.Tx, old searchTerms) error {
	const text = `DELETE FROM item_tokens WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND token = $4`
	if len(old.tokens) == 0 {
		return nil
	}
	for token := range old.tokens.Counts() {
		if err := t.Put(text, n.args(old.row(t, token))...); err != nil {
			return err
		}
	}
	return t.Put(text, n.args(anyToken)...)
}
