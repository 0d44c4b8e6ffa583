package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/item"
	"github.com/apbridge/apbridge/proxy/store/seal"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

// sealKey returns a key by number.
func sealKey(n byte) []byte { return append(bytes.Repeat([]byte{n}, seal.KeyBytes-1), 0) }

// sealRing returns a ring of the keys with these numbers.
func sealRing(t testing.TB, plain bool, numbers ...byte) *seal.Ring {
	t.Helper()
	var keys [][]byte
	for _, n := range numbers {
		keys = append(keys, sealKey(n))
	}
	r, err := seal.New(keys, plain)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// settle rewrites all bodies in the form that the process writes and returns the forgotten keys.
func (b *harness) settle() (forgotten []string) {
	for again := true; again; {
		left, err := b.Sealing.Unsealed(b.ctx)
		b.ok(err)
		if !left.Some {
			return nil
		}
		n, err := b.Sealing.Reseal(b.ctx, func(int64) {})
		b.ok(err)
		for told := 1; told > 0; {
			told, err = b.ItemMaintenance.Reindex(b.ctx)
			b.ok(err)
		}
		again = n > 0
	}
	forgotten, err := b.Sealing.Resealed(b.ctx)
	b.ok(err)
	return forgotten
}

// Regardless of the keys that a database has had, the newest alone can read all of it. If it was sealed from the start,
// its files contain no words of its bodies.
func TestKeysAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(readFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, steps := range map[string][]*seal.Ring{
		"one key":          {sealRing(t, false, 1)},
		"a newer key":      {sealRing(t, false, 1), sealRing(t, false, 2, 1), sealRing(t, false, 2)},
		"turned on later":  {nil, sealRing(t, false, 1)},
		"turned off":       {sealRing(t, false, 1), sealRing(t, true, 1), nil},
		"two at once":      {sealRing(t, false, 1), sealRing(t, false, 2, 1), sealRing(t, false, 3, 2, 1), sealRing(t, false, 3)},
		"back to an older": {sealRing(t, false, 1), sealRing(t, false, 2, 1), sealRing(t, false, 1, 2), sealRing(t, false, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
				dsn := fresh(t)
				b := fixtureHarness(t, dsn, "a process that died", steps[0])
				writeAll(b)
				_, _, err := b.ItemMaintenance.Embed(b.ctx)
				b.ok(err)
				if sealed := steps[0] != nil; found(t, dsn) == sealed && !strings.Contains(dsn, "://") {
					t.Errorf("the files contain words of bodies: %v", sealed)
				}
				b.ok(b.Close())
				for i, keys := range steps[1:] {
					b := openAt(t, dsn, store.Options{Keys: keys, Owner: fmt.Sprint("settles ", i)})
					checkForgotten(t, steps[i], keys, b.settle())
					checkSearches(b)
					b.ok(b.Close())
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), readAll(t, dsn, steps[len(steps)-1])); diff != "" {
					t.Errorf("data read (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// bodiesWords are words from the bodies of the fixture, one of each kind.
var bodiesWords = []string{`"hi"`, "go on", "given", "sure?", `"deep"`, `"tags"`, `"more"`, `"to"`, "Bea", `{"method"`, "asked"}

// found reports whether the files of a SQLite database contain words of bodies.
func found(t *testing.T, dsn string) (any bool) {
	t.Helper()
	files, err := filepath.Glob(dsn + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range bodiesWords {
			if bytes.Contains(data, []byte(word)) {
				t.Logf("%s has %q", filepath.Base(file), word)
				any = true
			}
		}
	}
	return any
}

func checkForgotten(t *testing.T, before, now *seal.Ring, forgotten []string) {
	t.Helper()
	if now == nil || before == nil {
		return
	}
	for _, id := range now.Keys() {
		wanted := !(now.Seals() && id == now.Keys()[0]) && before.Seals() && id == before.Keys()[0]
		if got := slices.Contains(forgotten, id.String()); got != wanted {
			t.Errorf("key %s forgotten: %v, want %v", id, got, wanted)
		}
	}
}

// checkSearches finds items by their words and by their values.
func checkSearches(b *harness) {
	b.t.Helper()
	words, err := b.Items.List(b.ctx, item.Query{Query: "x"})
	b.ok(err)
	values, err := b.Items.List(b.ctx, item.Query{Keep: func(v json.RawMessage) bool { return bytes.Contains(v, []byte(`"n":1`)) }})
	b.ok(err)
	if len(words) != 3 || len(values) != 1 {
		b.t.Errorf("%d items have the word, want 3; %d the value, want 1", len(words), len(values))
	}
}

// A database is not opened without the keys of its bodies, and the error names them.
func TestAMissingKeyIsNamed(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		dsn := fresh(t)
		b := openAt(t, dsn, store.Options{Keys: sealRing(t, false, 1)})
		writeQuestion(b)
		b.ok(b.Close())
		for name, keys := range map[string]*seal.Ring{"none": nil, "another": sealRing(t, false, 2), "to write plainly": sealRing(t, true, 2)} {
			_, err := store.Open(t.Context(), dsn, store.Options{Keys: keys}, zap.NewNop())
			if err == nil || !strings.Contains(err.Error(), seal.IDOf(sealKey(1)).String()) || !strings.Contains(err.Error(), "encryption.keys") {
				t.Errorf("%s: %v", name, err)
			}
		}
		b = openAt(t, dsn, store.Options{Keys: sealRing(t, false, 2, 1)})
		_, err := b.Events.List(b.ctx, fixAsking, "", 0, 0)
		b.ok(err)
	})
}

// A body that was changed or moved to another row is reported as such, also to tools that maintain the database.
func TestChangedBodyCannotBeOpened(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, fresh func(testing.TB) string) {
		for name, change := range map[string]string{
			"moved": `UPDATE runs SET kwargs = (SELECT o.kwargs FROM runs o WHERE o.id <> runs.id)`,
			"cut":   `UPDATE events SET head = substr(head, 1, 30)`,
		} {
			dsn := fresh(t)
			b := openAt(t, dsn, store.Options{Keys: sealRing(t, false, 1)})
			writeQuestion(b)
			b.create(fixtureRun(fixLeft, fixRunning))
			b.exec(dsn, change)
			_, err := b.Events.List(b.ctx, fixAsking, "", 0, 0)
			if err == nil {
				_, err = b.Runs.Get(b.ctx, fixAsking, fixQuestion)
			}
			if e := (*mapping.Error)(nil); !errors.As(err, &e) || e.Code != "database_unreadable" || e.Class != mapping.Internal {
				t.Errorf("%s: %v", name, err)
			}
			b.ok(b.Close())
		}
	})
}

// exec changes a database that is in use.
func (b *harness) exec(dsn, text string) {
	b.t.Helper()
	if strings.Contains(dsn, "://") {
		storetest.Exec(b.t, dsn, text)
		return
	}
	b.ok(execOn(dsn, text))
}

// The bodies of a copied thread are bound to the copy, and the original can be deleted.
func TestACopyOfASealedThreadIsRead(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"sealed": sealRing(t, false, 1), "an older key": sealRing(t, false, 2, 1), "made plain": sealRing(t, true, 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.DSN(t)
			b := openAt(t, dsn, store.Options{Keys: sealRing(t, false, 1)})
			c := b.create(fixtureRun(fixLeft, fixRunning))
			b.append(c, fixtureEvents(fixtureUpdate(3, `{"a":1}`))...)
			b.ok(b.Close())
			b = openAt(t, dsn, store.Options{Keys: keys})
			_, err := b.Threads.Copy(b.ctx, fixLeft, fixThread, store.IdempotencyKey{})
			b.ok(err)
			want, err := b.States.At(b.ctx, fixLeft, "")
			b.ok(err)
			got, err := b.States.At(b.ctx, fixThread, "")
			b.ok(err)
			if len(want.Events) == 0 || len(got.Events) != len(want.Events) || !bytes.Equal(got.Events[0].Data, want.Events[0].Data) {
				t.Errorf("the copy has %d events, want %d", len(got.Events), len(want.Events))
			}
		})
	}
}

// While another bridge writes with another key, no key is forgotten, since that bridge would still need it.
func TestKeyInUseByAnotherBridgeIsNotForgotten(t *testing.T) {
	t.Parallel()
	dsn := storetest.Schema(t)
	first := openAt(t, dsn, store.Options{Keys: sealRing(t, false, 1)})
	b := openAt(t, dsn, store.Options{Keys: sealRing(t, false, 2, 1)})
	writeQuestion(first)
	left, err := b.Sealing.Unsealed(b.ctx)
	b.ok(err)
	if _, err := b.Sealing.Resealed(b.ctx); !left.Some || !left.Others || !errors.Is(err, store.ErrOthers) {
		t.Errorf("with another bridge: %+v, %v", left, err)
	}
	b.ok(first.Close())
	if forgotten := b.settle(); !slices.Equal(forgotten, []string{seal.IDOf(sealKey(1)).String()}) {
		t.Errorf("alone: %v forgotten", forgotten)
	}
	if _, err := store.Open(context.Background(), dsn, store.Options{Keys: sealRing(t, false, 1)}, zap.NewNop()); err == nil {
		t.Error("the database opens with only the old key")
	}
}
