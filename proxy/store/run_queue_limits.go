package store

import (
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// checkQueueLimits refuses a run that must wait if too many are waiting already.
func (x *createRunTx) checkQueueLimits() error {
	p, agent := x.principal, x.made.Run.Agent
	for _, q := range []struct {
		most int
		of   string // selects the runs to count; args are $2 and up
		args sqldb.In
		text string
		name string
	}{
		{x.n.Queue.Agent, `agent = $2`, sqldb.In{agent}, "The queue of agent %[2]q is full: %[1]d runs are waiting (agents.%[2]s.queue). Try again later.", agent},
		{x.n.Queue.AgentKey, `agent = $2 AND tenant = $3 AND owner = $4`, sqldb.In{agent, p.Tenant, p.ID},
			"Key %[2]q has used up its share of the agent's queue, which is half of it: %[1]d of its runs are waiting (agents.%[3]s.queue). Try again later.", p.ID},
		{x.n.Queue.AgentTenant, `agent = $2 AND tenant = $3`, sqldb.In{agent, p.Tenant},
			"Tenant %[2]q has used up its share of the agent's queue, which is three quarters of it: %[1]d of its runs are waiting (agents.%[3]s.queue). Try again later.", p.Tenant},
		{x.n.Queue.Thread, `ended_us = 0 AND thread = $2`, sqldb.In{x.thread.key}, "The queue of thread %[2]q is full: %[1]d runs are waiting (limits.thread_queue). Try again later.", x.thread.ID},
		{p.Queue, `tenant = $2 AND owner = $3`, sqldb.In{p.Tenant, p.ID}, "The queue of key %[2]q is full: %[1]d of its runs are waiting (auth.keys[].queue). Try again later.", p.ID},
		{x.n.Queue.All, `agent <> $2`, sqldb.In{""}, "The queue%[2]s is full: %[1]d runs are waiting for all agents together (limits.queue). Try again later.", ""},
	} {
		waiting, err := x.waiting(q.most, q.of, q.args)
		if err != nil {
			return err
		}
		if q.most > 0 && waiting >= q.most {
			return mapping.Errorf(mapping.Limited, mapping.CodeQueueFull, q.text, waiting, q.name, agent)
		}
	}
	return nil
}

// waiting counts waiting runs, up to the limit.
func (x *createRunTx) waiting(most int, of string, args sqldb.In) (n int, err error) {
	if most > 0 {
		err = x.Get(`SELECT count(*) FROM (SELECT 1 FROM runs WHERE status = 'pending' AND `+of+` LIMIT CAST($1 AS BIGINT)) AS waiting`,
			append(sqldb.In{most}, args...), sqldb.Out{&n})
	}
	return n, err
}
