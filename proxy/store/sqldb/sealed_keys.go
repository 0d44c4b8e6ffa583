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

// Rows of the table secrets with these prefixes record under which keys bodies of the database may be sealed. A row of
// keyRow is written before the first body, and removed when no body is left (DB.ForgetKeys). A row of writerRow is
// named after a process and holds the key that it writes with. sealedRow records that all bodies are sealed under one
// key.
const (
	ownRows   = "seal "
	keyRow    = ownRows + "key "
	writerRow = ownRows + "writer "
	sealedRow = ownRows + "all"
)

// NoKeyRow is the condition that a row of secrets does not have one of these prefixes.
const NoKeyRow = `substr(name, 1, 5) <> '` + ownRows + `'`

// plainly replaces a key's id if bodies are not encrypted.
const plainly = "plain"

// writesAs returns the id of the key with which a ring writes, or plainly.
func writesAs(ring *seal.Ring) string {
	if ring.Seals() {
		return ring.Keys()[0].String()
	}
	return plainly
}

// WritesAs returns the id of the key that this process seals with, or "plain" if it does not seal.
func (d *DB) WritesAs() string { return writesAs(d.ring) }

// keyRows returns the ids of the keys that a database needs.
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

// CheckKeys returns an error if t's keys cannot open all bodies of the database.
func CheckKeys(t *Tx, dsn string) error { return checkKeys(t, shownName(dsn), t.ring) }

// checkKeys returns an error if the database has bodies sealed under keys that are not in the ring.
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
	return fmt.Sprintf("it has bodies that are sealed under missing keys: %s. %s. Add these keys to encryption.keys, each as file:PATH; "+
		"remove a key only after the log has reported that the database no longer needs it. A sealed body cannot be read without its key", listed(missing), have)
}

func listed(ids []seal.KeyID) string {
	var list []string
	for _, id := range ids {
		list = append(list, id.String())
	}
	return strings.Join(list, ", ")
}

// Register records which key this process writes with. It must run before the process writes bodies.
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

// blindRow is the secret for blinding words. It is sealed like other secrets.
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

// registered reports whether Register has nothing to do, so that a start needs no disk space.
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

// shownName returns a database's name for errors, without its password.
func shownName(dsn string) string {
	if !isServer(dsn) {
		return dsn
	}
	if cfg, err := pgx.ParseConfig(dsn); err == nil {
		return nameOf(cfg)
	}
	return "PostgreSQL"
}

// useKeys checks the keys of a newly opened database.
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

// Unfinished reports whether there may be bodies in another form than this process writes: sealed under another key,
// plain although it seals, or sealed although it does not.
func (d *DB) Unfinished(t *Tx) (yes bool, err error) {
	if !d.Keyed() {
		return false, nil
	}
	err = t.Get(`SELECT NOT EXISTS (SELECT 1 FROM secrets WHERE name = $1 AND value = $2)`, []any{sealedRow, []byte(writesAs(d.ring))}, []any{&yes})
	return yes, err
}

// Others reports whether another process that uses the database writes with another key or does not know of keys.
func (d *DB) Others(t *Tx) (yes bool, err error) {
	if !t.Shared() {
		return false, nil
	}
	err = t.Get(`SELECT EXISTS (SELECT 1 FROM processes p WHERE p.owner <> $1 AND p.until_us > $2
 AND NOT EXISTS (SELECT 1 FROM secrets s WHERE s.name = $3 || p.owner AND s.value = $4))`,
		[]any{d.owner, t.Now, writerRow, []byte(writesAs(d.ring))}, []any{&yes})
	return yes, err
}

// ErrOthers is returned by ForgetKeys if Others reports true.
var ErrOthers = errors.New("store: another bridge of this database writes under another key")

// ForgetKeys records that all bodies are in the form that this process writes, and returns the keys that the database
// no longer needs. The caller must have checked every body while Others was false.
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
