-- Whose a webhook and an idempotency key are: both outlive the run, or whatever else they name.
-- thread_owner is the owner of the run's thread, whose state a webhook tells.

-- The items of which the embeddings endpoint does not take a text, while it takes others, as of the
-- value that was written at updated_us: how often that was tried, and when it is tried again.
-- Items whose vectors are to be made are read by tenant, the newest first.

-- +goose Up
ALTER TABLE outbox ADD COLUMN {{unless there}} owner TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN {{unless there}} thread_owner TEXT NOT NULL DEFAULT '';
ALTER TABLE idempotency ADD COLUMN {{unless there}} owner TEXT NOT NULL DEFAULT '';
UPDATE outbox SET owner = coalesce((SELECT r.owner FROM runs r WHERE r.tenant = outbox.tenant AND r.run_id = outbox.run_id), ''),
  thread_owner = coalesce((SELECT h.owner FROM runs r JOIN threads h ON h.id = r.thread WHERE r.tenant = outbox.tenant AND r.run_id = outbox.run_id), '');
CREATE TABLE item_failures (
  tenant     TEXT NOT NULL,
  namespace  {{bytes}} NOT NULL,
  item_key   TEXT NOT NULL,
  updated_us BIGINT NOT NULL,
  tries      BIGINT NOT NULL,
  due_us     BIGINT NOT NULL,
  PRIMARY KEY (tenant, namespace, item_key)
);
CREATE INDEX item_failures_due ON item_failures (due_us);
DROP INDEX items_unseen;
CREATE INDEX items_unseen ON items (tenant, updated_us) WHERE vectors_us <> updated_us;
