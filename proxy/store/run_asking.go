package store

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

// cancelAsking cancels the agent's other tasks that wait for an answer on the thread (CreateRun.CancelAsking). Each gets a
// run that ends without having begun, so that readers of its events see its end.
func (x *createRunTx) cancelAsking() error {
	if x.n.CancelAsking == nil || x.fresh {
		return nil
	}
	sc := tables.ScopeFor(x.principal)
	where, args := sc.Narrow(`k.tenant = $1 AND k.thread = $2 AND k.agent = $3 AND k.id <> $4 AND k.status = 'asking'`,
		sc.Tenant, x.thread.key, x.made.Run.Agent, x.task)
	var asked []int64
	err := x.Each(`SELECT (SELECT max(r.id) FROM runs r WHERE r.task = k.id) FROM tasks k JOIN threads h ON h.id = k.thread WHERE `+where+` ORDER BY k.id`, args,
		func(scan func(...any) error) error {
			var key int64
			err := scan(&key)
			asked = append(asked, key)
			return err
		})
	if err != nil {
		return err
	}
	for _, key := range asked {
		last, err := readRun(x.Tx, `r.id = $1`, key)
		if err != nil {
			return err
		}
		if err := x.cancelTaskOf(last); err != nil {
			return err
		}
	}
	return nil
}

// cancelTaskOf cancels a task whose newest run asked a question.
func (x *createRunTx) cancelTaskOf(last *runRow) error {
	c := x.s.creation(x.Tx, x.principal, &CreateRun{Run: mapping.Run{
		ID: mapping.NewID(), TaskID: last.TaskID, Agent: last.Agent, AssistantID: last.AssistantID, Flavour: last.Flavour, Multitask: mapping.StrategyEnqueue,
		Options: mapping.RunOptions{Stepping: last.Options.Stepping},
	}})
	c.thread, c.task = x.thread, last.task
	if err := c.insert(); err != nil {
		return err
	}
	r := &c.made.Run
	end := x.n.CancelAsking(r)
	r.Status, r.CancelReason, r.EndedAt = end.Outcome.Status, end.Outcome.Reason, sqldb.TimeOf(x.Now)
	x.made.Cancelled = append(x.made.Cancelled, *r)
	ev := mapping.Event{RunID: r.ID, Kind: mapping.KindEnd, Head: mapping.Head{Outcome: &end.Outcome}}
	_, err := (&Events{x.s.base}).endInactive(x.Tx, runKey{Run: c.run, Thread: x.thread.key}, r.ID, ev, end)
	return err
}
