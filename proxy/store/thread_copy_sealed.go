package store

import (
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// copiedAtOnce is the number of bytes of a copied thread's bodies in memory at a time. A single larger event is held
// alone.
const copiedAtOnce = 4 << 20

// copiedBodies holds the bodies of an event.
type copiedBodies struct {
	seq                  int64
	head, data, snapshot []byte
	sealed               bool
}

// resealCopied seals the copied bodies again, since a seal is bound to the thread.
func resealCopied(t *sqldb.Tx, from, to int64) error {
	if !t.Keyed() {
		return nil
	}
	for after, more := int64(0), true; more; {
		var list []copiedBodies
		var err error
		if list, more, err = readCopied(t, from, after); err != nil {
			return err
		}
		for i := range list {
			if err := list[i].reseal(t, to); err != nil {
				return err
			}
			after = list[i].seq
		}
	}
	return nil
}

// readCopied reads the next events from the original thread.
func readCopied(t *sqldb.Tx, from, after int64) (list []copiedBodies, more bool, err error) {
	room := copiedAtOnce
	err = t.Until(`SELECT seq, head, data, snapshot FROM events WHERE thread = $1 AND line IS NOT NULL AND seq > $2 ORDER BY seq`, sqldb.In{from, after},
		func(scan func(...any) error) (bool, error) {
			var b copiedBodies
			places := []*sqldb.Body{
				sqldb.Unsealed(&b.head, colEventHead, from, &b.seq), sqldb.Unsealed(&b.data, colEventData, from, &b.seq), sqldb.Unsealed(&b.snapshot, colEventSnapshot, from, &b.seq),
			}
			err := scan(&b.seq, places[0], places[1], places[2])
			b.sealed = places[0].Sealed || places[1].Sealed || places[2].Sealed
			list = append(list, b)
			room -= len(b.head) + len(b.data) + len(b.snapshot)
			more = room <= 0
			return !more, err
		})
	return list, more, err
}

func (b *copiedBodies) reseal(t *sqldb.Tx, thread int64) error {
	if !b.sealed && !t.Sealing() {
		return nil
	}
	return t.Put(`UPDATE events SET head = $3, data = $4, snapshot = $5 WHERE thread = $1 AND seq = $2`, thread, b.seq,
		t.Sealed(b.head, colEventHead, thread, b.seq), t.Sealed(b.data, colEventData, thread, b.seq), t.Sealed(b.snapshot, colEventSnapshot, thread, b.seq))
}
