-- One text for SQLite and PostgreSQL. Words in double braces are what differs:
-- {{serial}} a generated 64-bit key, {{key}} a given one, {{bytes}} verbatim bytes.
--
-- Rows that outside ids name carry their tenant. Rows below them hang on integer
-- keys, which never leave this package, and so need none. There are no foreign
-- keys: rows are deleted explicitly, children first. Times are microseconds UTC;
-- 0 means never.

-- +goose Up
CREATE TABLE threads (
  id          {{serial}},
  tenant      TEXT NOT NULL,
  thread_id   TEXT NOT NULL,
  owner       TEXT NOT NULL,
  status      TEXT NOT NULL,
  metadata    {{bytes}} NOT NULL,
  config      {{bytes}} NOT NULL,
  interrupts  {{bytes}},
  created_us  BIGINT NOT NULL,
  updated_us  BIGINT NOT NULL,
  expires_us  BIGINT NOT NULL
);
CREATE UNIQUE INDEX threads_name ON threads (tenant, thread_id);
CREATE INDEX threads_expiry ON threads (expires_us) WHERE expires_us > 0;

-- Empty bytes and NULL are the same here: a driver may not tell them apart. Where
-- there is a difference, a column of its own says so (has_input).

-- The numbers of a thread and the tip of its history: narrow, since every append
-- rewrites it. prev_head and prev_base are what head and base were before the
-- newest append, so that one UPDATE … RETURNING tells both.
CREATE TABLE thread_seq (
  thread    {{key}},
  seq       BIGINT NOT NULL,
  head      TEXT NOT NULL,
  prev_head TEXT NOT NULL,
  line      BIGINT NOT NULL,
  base      BIGINT NOT NULL,
  prev_base BIGINT NOT NULL
);

CREATE TABLE tasks (
  id                {{serial}},
  tenant            TEXT NOT NULL,
  task_id           TEXT NOT NULL,
  owner             TEXT NOT NULL,
  thread            BIGINT NOT NULL,
  agent             TEXT NOT NULL,
  has_input         INTEGER NOT NULL,
  input             {{bytes}},
  additional        {{bytes}} NOT NULL,
  topic             INTEGER NOT NULL,
  cursor_n          INTEGER NOT NULL,
  reserved_n        INTEGER NOT NULL,
  reserved_until_us BIGINT NOT NULL,
  created_us        BIGINT NOT NULL,
  updated_us        BIGINT NOT NULL
);
CREATE UNIQUE INDEX tasks_name ON tasks (tenant, task_id);
CREATE INDEX tasks_agent ON tasks (tenant, agent, id);
CREATE INDEX tasks_thread ON tasks (thread, id);

-- holder is the process that executes a running run: '' when nobody does.
-- concurrent: see 00003_shared.sql. from_seq is the thread's newest number when
-- the run was claimed first: its events are above it, and last_seq ends them.
CREATE TABLE runs (
  id           {{serial}},
  tenant       TEXT NOT NULL,
  run_id       TEXT NOT NULL,
  owner        TEXT NOT NULL,
  thread       BIGINT NOT NULL,
  task         BIGINT NOT NULL,
  agent        TEXT NOT NULL,
  assistant_id TEXT NOT NULL,
  status       TEXT NOT NULL,
  parked       INTEGER NOT NULL,
  holder       TEXT NOT NULL,
  fence        BIGINT NOT NULL,
  attempt      INTEGER NOT NULL,
  strategy     TEXT NOT NULL,
  concurrent   INTEGER NOT NULL,
  flavour      TEXT NOT NULL,
  metadata     {{bytes}} NOT NULL,
  kwargs       {{bytes}} NOT NULL,
  options      {{bytes}} NOT NULL,
  base         TEXT NOT NULL,
  fault        {{bytes}},
  stop         TEXT NOT NULL,
  from_seq     BIGINT NOT NULL,
  last_seq     BIGINT NOT NULL,
  created_us   BIGINT NOT NULL,
  updated_us   BIGINT NOT NULL,
  started_us   BIGINT NOT NULL,
  ended_us     BIGINT NOT NULL,
  run_after_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX runs_name ON runs (run_id);
CREATE INDEX runs_thread ON runs (thread, id);
CREATE INDEX runs_task ON runs (task, id);
CREATE INDEX runs_open ON runs (thread, id) WHERE ended_us = 0;
CREATE UNIQUE INDEX runs_one ON runs (thread) WHERE status = 'running' AND concurrent = 0;
CREATE INDEX runs_pending ON runs (agent, id) WHERE status = 'pending';
CREATE INDEX runs_due ON runs (run_after_us) WHERE status = 'pending' AND run_after_us > 0;
CREATE INDEX runs_orphan ON runs (id) WHERE status = 'running' AND parked = 0 AND holder = '';
CREATE INDEX runs_stop ON runs (holder) WHERE stop <> '';

-- line is set on events that change the state: a line is a stretch of history
-- without forks, named by its first number (0: from the thread's start). Since
-- numbers only grow, a line is a range of them.
-- checkpoint is the id of the checkpoint an event makes. Its state is folded on
-- base: the number of the newest event of the line with a snapshot, itself
-- included; 0: the empty state; below 0: the state at the checkpoint numbered
-- -base, which the line forked from. The snapshot comes last: reading a row
-- without it does not touch its pages.
CREATE TABLE events (
  id         {{serial}},
  thread     BIGINT NOT NULL,
  seq        BIGINT NOT NULL,
  run        BIGINT,
  kind       TEXT NOT NULL,
  at_us      BIGINT NOT NULL,
  line       BIGINT,
  checkpoint TEXT,
  base       BIGINT,
  head       {{bytes}},
  data       {{bytes}},
  snapshot   {{bytes}}
);
CREATE UNIQUE INDEX events_seq ON events (thread, seq);
CREATE INDEX events_state ON events (thread, seq) WHERE line IS NOT NULL;
CREATE UNIQUE INDEX events_checkpoint ON events (thread, checkpoint) WHERE checkpoint IS NOT NULL;

CREATE TABLE links (
  thread  BIGINT NOT NULL,
  agent   TEXT NOT NULL,
  task_id TEXT NOT NULL,
  remote  TEXT NOT NULL,
  body    {{bytes}} NOT NULL,
  PRIMARY KEY (thread, agent, task_id)
);

CREATE TABLE requests (
  task       BIGINT NOT NULL,
  n          INTEGER NOT NULL,
  has_input  INTEGER NOT NULL,
  input      {{bytes}},
  additional {{bytes}},
  PRIMARY KEY (task, n)
);

CREATE TABLE processes (
  owner    TEXT NOT NULL PRIMARY KEY,
  until_us BIGINT NOT NULL
);

CREATE TABLE outbox (
  id         {{serial}},
  tenant     TEXT NOT NULL,
  run_id     TEXT NOT NULL,
  url        TEXT NOT NULL,
  body       {{bytes}} NOT NULL,
  attempts   INTEGER NOT NULL,
  error      TEXT NOT NULL,
  created_us BIGINT NOT NULL,
  due_us     BIGINT NOT NULL,
  done_us    BIGINT NOT NULL
);
CREATE INDEX outbox_due ON outbox (due_us) WHERE done_us = 0;

CREATE TABLE idempotency (
  tenant     TEXT NOT NULL,
  route      TEXT NOT NULL,
  key_text   TEXT NOT NULL,
  sum        {{bytes}} NOT NULL,
  made_id    TEXT NOT NULL,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (tenant, route, key_text)
);
CREATE INDEX idempotency_age ON idempotency (created_us);

CREATE TABLE agents_seen (
  name  TEXT NOT NULL PRIMARY KEY,
  at_us BIGINT NOT NULL
);

-- namespace is the escaped path as bytes: compared the same way by both databases.
CREATE TABLE items (
  id         {{serial}},
  tenant     TEXT NOT NULL,
  owner      TEXT NOT NULL,
  namespace  {{bytes}} NOT NULL,
  item_key   TEXT NOT NULL,
  value      {{bytes}} NOT NULL,
  fields     {{bytes}},
  ttl_us     BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  updated_us BIGINT NOT NULL,
  expires_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX items_name ON items (tenant, namespace, item_key);
CREATE INDEX items_expiry ON items (expires_us) WHERE expires_us > 0;

-- A staged row waits for the event that names it; a visible one is the only one of
-- its path. blob names its chunks.
CREATE TABLE artifacts (
  id            {{serial}},
  thread        BIGINT NOT NULL,
  artifact_id   TEXT NOT NULL,
  task_id       TEXT NOT NULL,
  path          TEXT NOT NULL,
  nested        INTEGER NOT NULL,
  size          BIGINT NOT NULL,
  mime          TEXT NOT NULL,
  sum           TEXT NOT NULL,
  agent_created INTEGER NOT NULL,
  remote_id     TEXT NOT NULL,
  staged        INTEGER NOT NULL,
  blob          BIGINT NOT NULL,
  created_us    BIGINT NOT NULL,
  modified_us   BIGINT NOT NULL
);
CREATE UNIQUE INDEX artifacts_path ON artifacts (thread, path) WHERE staged = 0;
CREATE UNIQUE INDEX artifacts_name ON artifacts (thread, artifact_id) WHERE staged = 0;
CREATE INDEX artifacts_thread ON artifacts (thread, artifact_id);

CREATE INDEX artifacts_staged ON artifacts (blob) WHERE staged = 1;

-- loose: no visible artifact has these bytes yet.
CREATE TABLE blobs (
  id         {{serial}},
  created_us BIGINT NOT NULL,
  loose      INTEGER NOT NULL
);
CREATE INDEX blobs_loose ON blobs (created_us) WHERE loose = 1;

CREATE TABLE chunks (
  blob BIGINT NOT NULL,
  n    INTEGER NOT NULL,
  data {{bytes}} NOT NULL,
  PRIMARY KEY (blob, n)
);
