package store

import (
	"context"
	"encoding/json"
	"github.com/apbridge/apbridge/proxy/store/sqldb"
)

// agents are the configured ones: what is remembered of them.
type agents struct{ *base }

// AgentFact is what an agent last said of itself when it was asked for what;
// sql.ErrNoRows when it never did. Agents belong to no tenant.
func (s *agents) AgentFact(ctx context.Context, agent, what string) (body json.RawMessage, err error) {
	err = s.db.ReadOne(ctx, func(t *sqldb.Tx) error {
		return t.Get(`SELECT body FROM agent_facts WHERE agent = $1 AND what = $2`, in{agent, what}, out{rawOf(&body)})
	})
	return body, err
}

// KeepAgentFact keeps what an agent said of itself.
func (s *agents) KeepAgentFact(ctx context.Context, agent, what string, body json.RawMessage) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		_, err := t.Exec(`INSERT INTO agent_facts (agent, what, body, at_us) VALUES ($1, $2, $3, $4)
 ON CONFLICT (agent, what) DO UPDATE SET body = excluded.body, at_us = excluded.at_us`, agent, what, nonNil(body), t.Now)
		return err
	})
}
