package store

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
	"go.uber.org/zap"
)

// The cost of listing the rows of one thread or task must not depend on the number of others.
func TestListsOfOneThreadUseItsIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "p.db"), Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	runs := func(q mapping.RunQuery) (string, sqldb.In) {
		where, args := runFilter(tables.Scope{}, q)
		return `SELECT ` + runColumns + ` WHERE ` + where + ` ORDER BY r.id ` + limitOffset(len(args)+1), append(args, sqldb.LimitOf(0), 0)
	}
	tasks := func(q TaskQuery) (string, sqldb.In) {
		where, args := taskFilter(tables.Scope{}, q)
		return taskPage(where, args, q)
	}
	for name, query := range map[string]func() (string, sqldb.In){
		"a task's runs":     func() (string, sqldb.In) { return runs(mapping.RunQuery{ThreadID: "t", TaskID: "k"}) },
		"a thread's runs":   func() (string, sqldb.In) { return runs(mapping.RunQuery{ThreadID: "t"}) },
		"an agent's in one": func() (string, sqldb.In) { return runs(mapping.RunQuery{ThreadID: "t", Agent: "a"}) },
		"a thread's tasks":  func() (string, sqldb.In) { return tasks(TaskQuery{ThreadID: "t"}) },
		"an agent's tasks":  func() (string, sqldb.In) { return tasks(TaskQuery{Agent: "a"}) },
		"by status":         func() (string, sqldb.In) { return tasks(TaskQuery{Agent: "a", ByStatus: true}) },
		"after a task": func() (string, sqldb.In) {
			return tasks(TaskQuery{Agent: "a", ByStatus: true, After: mapping.TaskMark{ID: "t"}, Status: mapping.TaskStatuses()})
		},
		"an agent's, in one": func() (string, sqldb.In) { return tasks(TaskQuery{ThreadID: "t", Agent: "a"}) },
	} {
		text, args := query()
		var plan []string
		err := s.base.DB.ReadOne(ctx, func(x *sqldb.Tx) error {
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
		all := strings.Join(plan, "; ")
		if strings.Contains(all, "SCAN") || strings.Contains(all, "TEMP B-TREE") {
			t.Errorf("%s: %s", name, all)
		}
	}
}

// Frequent queries read only unfinished rows, or an index with all that they need.
func TestRegularQueriesUseIndexesOfUnfinishedRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "p.db"), Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for text, index := range map[string]string{countQueued: "runs_pending", countRunning: "runs_open", countHooks: "outbox_due", selectPulled: "runs_open", selectOpen: "runs_open", selectEnded: "COVERING INDEX runs_ended"} {
		var plan string
		var args sqldb.In
		for n := 1; strings.Contains(text, "$"+strconv.Itoa(n)); n++ {
			args = append(args, nil)
		}
		err := s.base.DB.ReadOne(ctx, func(x *sqldb.Tx) error {
			return x.Until(`EXPLAIN QUERY PLAN `+text, args, func(scan func(...any) error) (bool, error) {
				var id, parent, unused int
				return false, scan(&id, &parent, &unused, &plan)
			})
		})
		if err != nil || !strings.Contains(plan, index) {
			t.Errorf("%s: %s, %v", text, plan, err)
		}
	}
}
