-- Whose a webhook and an idempotency key are: both outlive the run, or whatever else they name.
-- thread_owner is the owner of the run's thread, whose state a webhook tells.

-- +goose Up
ALTER TABLE outbox ADD COLUMN {{unless there}} owner TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN {{unless there}} thread_owner TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency ADD COLUMN {{unless there}} owner TEXT NOT NULL DEFAULT '';
UPDATE outbox SET owner = coalesce((SELECT r.owner FROM runs r WHERE r.tenant = outbox.tenant AND r.run_id = outbox.run_id), ''),
  thread_owner = coalesce((SELECT h.owner FROM runs r JOIN threads h ON h.id = r.thread WHERE r.tenant = outbox.tenant AND r.run_id = outbox.run_id), '');
