package item

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// anyToken is in place of a token in the row that each item with tokens has.
const anyToken = ""

// retoken gives an item its tokens in place of old ones. The caller has the item's row, so that no other process does
// the same: its tokens are always those that its row tells.
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

// addToken: an older version that still serves leaves tokens of the items that it deletes.
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
