package item

import (
	"bytes"
	"slices"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// memberList holds the entries of an item in item_members (itemquery.ItemMembers), each preceded by its length.
type memberList []byte

func newMemberList(entries [][]byte) (l memberList) {
	for _, e := range entries {
		l = append(append(l, byte(len(e))), e...)
	}
	return l
}

func (l memberList) entries() (list [][]byte) {
	for len(l) > 0 && len(l) > int(l[0]) {
		end := 1 + int(l[0])
		list, l = append(list, l[1:end]), l[end:]
	}
	return list
}

// relist replaces the members of an item. The caller has locked the item's row.
func (n itemName) relist(t *sqldb.Tx, old, fresh memberList) error {
	if bytes.Equal(old, fresh) {
		return nil
	}
	had, has := old.entries(), fresh.entries()
	for _, e := range had {
		if !within(has, e) {
			if err := n.removeMember(t, e); err != nil {
				return err
			}
		}
	}
	for _, e := range has {
		if !within(had, e) {
			if err := n.addMember(t, e); err != nil {
				return err
			}
		}
	}
	return t.Put(`UPDATE items SET members = $4 WHERE tenant = $1 AND namespace = $2 AND item_key = $3`, n.args(sqldb.Blob(fresh))...)
}

// within reports whether a sorted list contains an entry.
func within(sorted [][]byte, e []byte) bool {
	_, ok := slices.BinarySearchFunc(sorted, e, bytes.Compare)
	return ok
}

func (n itemName) addMembers(t *sqldb.Tx, fresh memberList) error {
	for _, e := range fresh.entries() {
		if err := n.addMember(t, e); err != nil {
			return err
		}
	}
	return nil
}

// addMember ignores existing rows, because an older version still in use does not remove the members of items that it
// deletes.
func (n itemName) addMember(t *sqldb.Tx, entry []byte) error {
	return t.Put(`INSERT INTO item_members (tenant, member, namespace, item_key) VALUES ($1, $4, $2, $3)
 ON CONFLICT (tenant, member, namespace, item_key) DO NOTHING`, n.args(entry)...)
}

func (n itemName) removeMembers(t *sqldb.Tx, old memberList) error {
	for _, e := range old.entries() {
		if err := n.removeMember(t, e); err != nil {
			return err
		}
	}
	return nil
}

func (n itemName) removeMember(t *sqldb.Tx, entry []byte) error {
	return t.Put(`DELETE FROM item_members WHERE tenant = $1 AND namespace = $2 AND item_key = $3 AND member = $4`, n.args(entry)...)
}
