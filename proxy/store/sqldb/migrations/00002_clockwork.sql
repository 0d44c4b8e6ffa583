-- What happens by the clock: crons, and what is no longer kept.

-- +goose Up

-- thread is the key of the thread a cron runs on; 0: each run makes its own.
-- run is the request that every run of it is made by, payload what the client
-- sent. next_us is the next tick; 0: none, because it is off or over.
CREATE TABLE crons (
  id           {{serial}},
  tenant       TEXT NOT NULL,
  cron_id      TEXT NOT NULL,
  owner        TEXT NOT NULL,
  thread       BIGINT NOT NULL,
  agent        TEXT NOT NULL,
  assistant_id TEXT NOT NULL,
  schedule     TEXT NOT NULL,
  timezone     TEXT NOT NULL,
  enabled      INTEGER NOT NULL,
  keep         INTEGER NOT NULL,
  metadata     {{bytes}} NOT NULL,
  payload      {{bytes}} NOT NULL,
  run          {{bytes}} NOT NULL,
  error        TEXT NOT NULL,
  end_us       BIGINT NOT NULL,
  next_us      BIGINT NOT NULL,
  created_us   BIGINT NOT NULL,
  updated_us   BIGINT NOT NULL
);
CREATE UNIQUE INDEX crons_name ON crons (tenant, cron_id);
CREATE INDEX crons_thread ON crons (thread) WHERE thread > 0;
CREATE INDEX crons_due ON crons (next_us) WHERE next_us > 0;

-- trimmed: the run has no tokens, or they are gone.
ALTER TABLE runs ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_untrimmed ON runs (ended_us) WHERE ended_us > 0 AND trimmed = 0;

CREATE INDEX outbox_run ON outbox (tenant, run_id);
CREATE INDEX outbox_done ON outbox (done_us) WHERE done_us > 0;
