-- cancel_reason: why a run was, or is to be, cancelled; '' where it was not, or nobody said.
-- ttl_us: the time to live that a thread was given with expires_us; 0: it is not known.

-- +goose Up
ALTER TABLE threads ADD COLUMN {{unless there}} ttl_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN {{unless there}} cancel_reason TEXT NOT NULL DEFAULT '';
