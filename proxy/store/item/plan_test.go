package item

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/store/clock"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"go.uber.org/zap"
)

// The cost of searching one namespace must not depend on the number of items elsewhere. The tables are those of the
// migrations, as package sqldb creates them.
func TestSearchesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := sqldb.Open(ctx, filepath.Join(t.TempDir(), "p.db"), sqldb.Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	two := reach{mapping.Principal{Namespaces: [][]string{{"a"}, {"z"}}}}
	items := func(r reach, prefix ...string) (string, sqldb.In) {
		last := r.below(prefix)[len(r.below(prefix))-1]
		return Query{Limit: 10}.sortedStatement(last.where), append(last.args, int64(1))
	}
	byText := func(q Query) (string, sqldb.In) {
		return (&textSearch{Query: q}).statement(&sqldb.Tx{Reading: clock.Reading{Now: 1, Horizon: 1}}, "word", q.Keep == nil)
	}
	members := func(r reach, ranges []itemquery.MemberRange, prefix ...string) (string, sqldb.In) {
		return newLookup(ranges).names(r, prefix)
	}
	for name, query := range map[string]func() (string, sqldb.In){
		"a namespace's items": func() (string, sqldb.In) { return items(reach{}, "a", "b") },
		"a key's items":       func() (string, sqldb.In) { return items(two) },
		"items with a word": func() (string, sqldb.In) {
			return byText(Query{Prefix: []string{"a"}, Keep: func(json.RawMessage) bool { return true }})
		},
		"a tenant's items": func() (string, sqldb.In) { return items(reach{}) },
		"items with a member": func() (string, sqldb.In) {
			return members(reach{}, []itemquery.MemberRange{{From: []byte("a"), To: []byte("a")}, {From: []byte("b"), To: []byte("b")}}, "a")
		},
		"the next tenant without vectors":  func() (string, sqldb.In) { return tenantAfter, sqldb.In{"a"} },
		"the first tenant without vectors": func() (string, sqldb.In) { return tenantFirst, nil },
		"a tenant's items without vectors": func() (string, sqldb.In) { return unseenOf, sqldb.In{"a", 1} },
		"a tenant's items that are late":   func() (string, sqldb.In) { return lateOf, sqldb.In{"a", 1} },
		"items with members between": func() (string, sqldb.In) {
			return members(two, []itemquery.MemberRange{{From: []byte("a"), To: []byte("b")}})
		},
	} {
		text, args := query()
		plan := strings.Join(planOf(t, db, text, args), "; ")
		if strings.HasSuffix(name, "'s items") && name != "a tenant's items" && !strings.Contains(plan, "namespace>") {
			t.Errorf("%s: %s", name, plan)
		}
		if (strings.HasSuffix(name, "without vectors") || strings.HasSuffix(name, "late")) && !strings.Contains(plan, "items_unseen") {
			t.Errorf("%s: %s", name, plan)
		}
		if strings.Contains(strings.ReplaceAll(plan, "SCAN CONSTANT ROW", ""), "SCAN") && name != "the first tenant without vectors" || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s: %s", name, plan)
		}
	}
}

func planOf(t *testing.T, db *sqldb.DB, text string, args sqldb.In) (plan []string) {
	err := db.ReadOne(context.Background(), func(x *sqldb.Tx) error {
		return x.Each(`EXPLAIN QUERY PLAN `+text, args, func(scan func(...any) error) error {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
