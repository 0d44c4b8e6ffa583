package sqldb

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/jackc/pgx/v5"
)

// Which keys the bodies of a database may be sealed under is told by rows of secrets that begin with these words. A row
// of keyRow is written before the first body is, and goes when no body is left (DB.ForgetKeys). A row of writerRow says
// under which key a process writes, by whose owner it is named; sealedRow, that all bodies are sealed under one.
const (
	ownRows   = "seal "
	keyRow    = ownRows + "key "
	writerRow = ownRows + "writer "
	sealedRow = ownRows + "all"
)

// NoKeyRow is the condition that a row of secrets is not one of these.
const NoKeyRow = `substr(name, 1, 5) <> '` + ownRows + `'`

// plainly is in place of a key's id where bodies are written as they are.
const plainly = "plain"

// writesAs names what a ring writes under.
func writesAs(ring *seal.Ring) string {
	if ring.Seals() {
		return ring.Keys()[0].String()
	}
	return plainly
}

// WritesAs returns the id of the key that this process seals under, "plain" where it seals nothing.
func (d *DB) WritesAs() string { return writesAs(d.ring) }

// keyRows are the ids of the keys that a database needs.
func keyRows(t *Tx) (ids []seal.KeyID, err error) {
	err = t.Each(`SELECT name FROM secrets WHERE substr(name, 1, $1) = $2 ORDER BY name`, []any{len(keyRow), keyRow}, func(scan func(...any) error) error {
		var name string
		var id seal.KeyID
		err := scan(&name)
		if raw, bad := hex.DecodeString(strings.TrimPrefix(name, keyRow)); bad == nil && len(raw) == len(id) {
			ids = append(ids, seal.KeyID(raw))
		}
		return err
	})
	return ids, err
}

// CheckKeys refuses a database of which Look cannot open all bodies.
func CheckKeys(t *Tx, dsn string) error { return checkKeys(t, shownName(dsn), t.ring) }

// checkKeys refuses a database that has bodies under keys that the ring has not got.
func checkKeys(t *Tx, path string, ring *seal.Ring) error {
	needed, err := keyRows(t)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(needed, ring.Has)
	if len(missing) == 0 {
		return nil
	}
	return refuse(path, "%s", missingKeys(missing, ring.Keys()))
}

func missingKeys(missing, there []seal.KeyID) string {
	have := "No key is configured"
	if len(there) > 0 {
		have = "The keys that are configured are " + listed(there)
	}
	return fmt.Sprintf("it has bodies that are sealed under keys that are not there: %s. %s. Put the missing ones into encryption.keys, each as file:PATH; "+
		"a key may go when the log has said that the database needs it no longer. Without its key nothing of a sealed body can be read again", listed(missing), have)
}

func listed(ids []seal.KeyID) string {
	var list []string
	for _, id := range ids {
		list = append(list, id.String())
	}
	return strings.Join(list, ", ")
}

// Register notes under which key this process writes, before it does.
func (d *DB) Register(t *Tx) error {
	if !d.Keyed() {
		return nil
	}
	as := writesAs(d.ring)
	names := []string{}
	if d.ring.Seals() {
		names = append(names, keyRow+as)
	}
	if t.Shared() {
		names = append(names, writerRow+d.owner)
	}
	for _, name := range names {
		if _, err := t.Exec(`INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, []byte(as)); err != nil {
			return err
		}
	}
	if err := makeBlind(t); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM secrets WHERE name = $1 AND value <> $2`, sealedRow, []byte(as))
	return err
}

// blindRow is the secret that words are blinded with. It is sealed itself, as others are.
const (
	blindRow    = ownRows + "blind"
	secretValue = "secrets.value"
)

func makeBlind(t *Tx) error {
	fresh := make([]byte, sha256.Size)
	_, _ = rand.Read(fresh) // never fails
	_, err := t.Exec(`INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, blindRow, t.Sealed(fresh, secretValue, blindRow))
	return err
}

func readBlind(t *Tx) (blind []byte, err error) {
	err = t.Get(`SELECT value FROM secrets WHERE name = $1`, []any{blindRow}, []any{Unsealed(&blind, secretValue, blindRow)})
	return blind, err
}

// registered reports whether Register has nothing to do, so that a start needs no room on the disk.
func (d *DB) registered(t *Tx) (done bool, err error) {
	if !d.Keyed() {
		return true, nil
	}
	as := writesAs(d.ring)
	var key, blind, all bool
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM secrets WHERE name = $1), EXISTS (SELECT 1 FROM secrets WHERE name = $2),
 EXISTS (SELECT 1 FROM secrets WHERE name = $3 AND value <> $4)`, []any{keyRow + as, blindRow, sealedRow, []byte(as)}, []any{&key, &blind, &all})
	return (key || !d.ring.Seals()) && blind && !all && !t.Shared(), err
}

// shownName is a database as refusals name it: without its password.
func shownName(dsn string) string {
	if !isServer(dsn) {
		return dsn
	}
	if cfg, err := pgx.ParseConfig(dsn); err == nil {
		return nameOf(cfg)
	}
	return "PostgreSQL"
}

// useKeys checks the keys of a database that was just opened.
func (d *DB) useKeys(ctx context.Context, dsn string) error {
	done := false
	err := d.Read(ctx, func(t *Tx) (err error) {
		if err = checkKeys(t, shownName(dsn), d.ring); err == nil {
			done, err = d.registered(t)
		}
		return err
	})
	if err == nil && !done {
		err = d.Write(ctx, d.Register)
	}
	if err != nil || !d.Keyed() {
		return err
	}
	return d.Read(ctx, func(t *Tx) (err error) {
		d.blind, err = readBlind(t)
		return err
	})
}

// Unfinished reports whether there may be bodies that are not sealed under the key that this process writes under, or,
// where it writes them as they are, that are sealed.
func (d *DB) Unfinished(t *Tx) (yes bool, err error) {
	if !d.Keyed() {
		return false, nil
	}
	err = t.Get(`SELECT NOT EXISTS (SELECT 1 FROM secrets WHERE name = $1 AND value = $2)`, []any{sealedRow, []byte(writesAs(d.ring))}, []any{&yes})
	return yes, err
}

// Others reports whether another process uses the database that writes under another key, or knows of none.
func (d *DB) Others(t *Tx) (yes bool, err error) {
	if !t.Shared() {
		return false, nil
	}
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM processes p WHERE p.owner <> $1 AND p.until_us > $2
 AND NOT EXISTS (SELECT 1 FROM secrets s WHERE s.name = $3 || p.owner AND s.value = $4))`,
		[]any{d.owner, t.Now, writerRow, []byte(writesAs(d.ring))}, []any{&yes})
	return yes, err
}

// ErrOthers is what ForgetKeys says while Others does.
var ErrOthers = errors.New("store: another bridge of this database writes under another key")

// ForgetKeys notes that all bodies are as this process writes them, and so which keys the database needs no longer. It
// is for what has looked at every body while there were no Others.
func (d *DB) ForgetKeys(t *Tx) (forgotten []string, err error) {
	if others, err := d.Others(t); err != nil || others {
		return nil, errors.Join(err, ErrOthers)
	}
	as := writesAs(d.ring)
	needed, err := keyRows(t)
	if err != nil {
		return nil, err
	}
	for _, id := range needed {
		if id.String() == as {
			continue
		}
		forgotten = append(forgotten, id.String())
		if err := t.Put(`DELETE FROM secrets WHERE name = $1`, keyRow+id.String()); err != nil {
			return nil, err
		}
	}
	if err := t.Put(`DELETE FROM secrets WHERE substr(name, 1, $1) = $2 AND name <> $3
 AND NOT EXISTS (SELECT 1 FROM processes p WHERE $2 || p.owner = secrets.name)`,
		len(writerRow), writerRow, writerRow+d.owner); err != nil {
		return nil, err
	}
	return forgotten, t.Put(`INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, sealedRow, []byte(as))
}
