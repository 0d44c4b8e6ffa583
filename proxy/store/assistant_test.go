package store_test

import (
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/google/go-cmp/cmp"
)

const assistantID = "0190e1f2-0000-4000-8000-00000000000a"

func anAssistant() mapping.Assistant {
	return mapping.Assistant{
		ID: assistantID, Graph: "legacy", Name: "Ada", Description: "knows numbers",
		Metadata: []byte(`{"team":"a","n":1}`), Config: []byte(`{"tags":["x"]}`), Context: []byte(`{"big":12345678901234567890}`),
	}
}

func TestAssistantHasVersions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		made, fresh, err := b.Assistants.Create(b.ctx, anAssistant(), false, store.IdempotencyKey{})
		b.ok(err)
		if !fresh || made.Version != 1 || made.CreatedAt.IsZero() {
			t.Fatalf("got %+v", made)
		}
		second, err := b.Assistants.Update(b.ctx, assistantID, func(a *mapping.Assistant) error {
			a.Name, a.Metadata = "Bea", []byte(`{"team":"b"}`)
			return nil
		})
		b.ok(err)
		if second.Version != 2 || second.Name != "Bea" || string(second.Context) != `{"big":12345678901234567890}` {
			t.Errorf("got %+v", second)
		}
		back, err := b.Assistants.SetVersion(b.ctx, assistantID, 1)
		b.ok(err)
		if back.Version != 1 || back.Name != "Ada" || string(back.Metadata) != `{"team":"a","n":1}` {
			t.Errorf("got %+v", back)
		}
		// The next version gets a new number, whichever version is current.
		third, err := b.Assistants.Update(b.ctx, assistantID, func(a *mapping.Assistant) error { a.Description = ""; return nil })
		b.ok(err)
		if third.Version != 3 || third.Name != "Ada" {
			t.Errorf("got %+v", third)
		}
		got, err := b.Assistants.Get(b.ctx, assistantID)
		b.ok(err)
		if d := cmp.Diff(third, got); d != "" {
			t.Error(d)
		}
		names := func(metadata string, limit, offset int) (out []string) {
			list, err := b.Assistants.Versions(b.ctx, assistantID, []byte(metadata), limit, offset)
			b.ok(err)
			for _, a := range list {
				out = append(out, a.Name)
			}
			return out
		}
		for _, c := range []struct {
			metadata      string
			limit, offset int
			want          []string
		}{{`{}`, 10, 0, []string{"Ada", "Bea", "Ada"}}, {`{}`, 1, 1, []string{"Bea"}}, {`{"team":"b"}`, 10, 0, []string{"Bea"}}, {`{}`, 10, 3, nil}} {
			if d := cmp.Diff(c.want, names(c.metadata, c.limit, c.offset)); d != "" {
				t.Errorf("%+v: %s", c, d)
			}
		}
		_, err = b.Assistants.SetVersion(b.ctx, assistantID, 4)
		wantClass(t, err, mapping.NotFound, mapping.CodeVersionNotFound)
		b.ok(b.Assistants.Delete(b.ctx, assistantID))
		_, err = b.Assistants.Get(b.ctx, assistantID)
		wantClass(t, err, mapping.NotFound, mapping.CodeAgentNotFound)
		_, err = b.Assistants.Versions(b.ctx, assistantID, nil, 0, 0)
		wantClass(t, err, mapping.NotFound, mapping.CodeAgentNotFound)
		wantClass(t, b.Assistants.Delete(b.ctx, assistantID), mapping.NotFound, mapping.CodeAgentNotFound)
	})
}

func TestExistingAssistant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first, _, err := b.Assistants.Create(b.ctx, anAssistant(), false, store.IdempotencyKey{})
		b.ok(err)
		other := anAssistant()
		other.Name = "Eve"
		_, _, err = b.Assistants.Create(b.ctx, other, false, store.IdempotencyKey{})
		wantClass(t, err, mapping.Conflict, mapping.CodeAssistantThere)
		got, fresh, err := b.Assistants.Create(b.ctx, other, true, store.IdempotencyKey{})
		b.ok(err)
		if d := cmp.Diff(first, got); d != "" || fresh {
			t.Error(fresh, d)
		}
	})
}

func TestAssistantsBelongToATenant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		alice := mapping.WithPrincipal(b.ctx, mapping.Principal{ID: "alice", Tenant: "a"})
		bob := mapping.WithPrincipal(b.ctx, mapping.Principal{ID: "bob", Tenant: "b"})
		_, _, err := b.Assistants.Create(alice, anAssistant(), false, store.IdempotencyKey{})
		b.ok(err)
		_, err = b.Assistants.Get(bob, assistantID)
		wantClass(t, err, mapping.NotFound, mapping.CodeAgentNotFound)
		_, err = b.Assistants.Update(bob, assistantID, func(*mapping.Assistant) error { return nil })
		wantClass(t, err, mapping.NotFound, mapping.CodeAgentNotFound)
		_, err = b.Assistants.SetVersion(bob, assistantID, 1)
		wantClass(t, err, mapping.NotFound, mapping.CodeAgentNotFound)
		wantClass(t, b.Assistants.Delete(bob, assistantID), mapping.NotFound, mapping.CodeAgentNotFound)
		if list, err := b.Assistants.List(bob); err != nil || len(list) > 0 {
			t.Error(list, err)
		}
		his, fresh, err := b.Assistants.Create(bob, anAssistant(), false, store.IdempotencyKey{})
		if err != nil || !fresh || his.Tenant != "b" || his.Owner != "bob" {
			t.Errorf("the same id in another tenant: %+v %v %v", his, fresh, err)
		}
		b.ok(b.Assistants.Delete(bob, assistantID))
		if _, err := b.Assistants.Get(alice, assistantID); err != nil {
			t.Error("one tenant deleted another's: ", err)
		}
	})
}

// Concurrent updates create different versions.
func TestAssistantVersionsRace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		_, _, err := b.Assistants.Create(b.ctx, anAssistant(), false, store.IdempotencyKey{})
		b.ok(err)
		const writers = 8
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				if _, err := b.Assistants.Update(b.ctx, assistantID, func(*mapping.Assistant) error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		list, err := b.Assistants.Versions(b.ctx, assistantID, nil, 0, 0)
		b.ok(err)
		for i, a := range list {
			if a.Version != writers+1-i {
				t.Errorf("version %d at %d", a.Version, i)
			}
		}
		if len(list) != writers+1 {
			t.Errorf("%d versions", len(list))
		}
	})
}

func TestCronsAreDeletedWithTheirAssistant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		_, _, err := b.Assistants.Create(b.ctx, anAssistant(), false, store.IdempotencyKey{})
		b.ok(err)
		for id, assistant := range map[string]string{"its": assistantID, "other": mapping.AssistantID("legacy")} {
			_, err := b.Crons.Create(b.ctx, mapping.Cron{ID: id, Agent: "legacy", AssistantID: assistant, Schedule: "@daily"}, store.IdempotencyKey{})
			b.ok(err)
		}
		b.ok(b.Assistants.Delete(b.ctx, assistantID))
		if _, err := b.Crons.Get(b.ctx, "other"); err != nil {
			t.Error(err)
		}
		_, err = b.Crons.Get(b.ctx, "its")
		wantClass(t, err, mapping.NotFound, mapping.CodeCronNotFound)
	})
}

func TestAgentFactsAreKept(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		if _, err := b.Agents.Fact(b.ctx, "a", "graph"); !errors.Is(err, sql.ErrNoRows) {
			t.Error(err)
		}
		for _, body := range []string{`{"old":1}`, `{"new":"\u0000"}`} {
			b.ok(b.Agents.KeepFact(b.ctx, "a", "graph", []byte(body)))
			got, err := b.Agents.Fact(b.ctx, "a", "graph")
			if err != nil || string(got) != body {
				t.Errorf("got %s, %v", got, err)
			}
		}
	})
}
