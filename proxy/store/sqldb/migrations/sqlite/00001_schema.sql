-- The SQLite tables. PostgreSQL has the same tables, except for commits and the keys of items.
--
-- Rows with external ids have a tenant. Rows below them refer to integer keys, which never leave this package. There
-- are no foreign keys: rows are deleted explicitly, children first. Times are microseconds since 1970 in UTC; 0 means
-- never. Empty bytes and NULL mean the same. If the difference matters, a column says so (has_input).

-- +goose Up

-- agents lists the agents of all runs and tasks of the thread, as /name/, in any order. A key of auth.keys with agents
-- sees a thread only if it may use all of them. An agent stays listed when its runs are deleted, since the state may
-- still contain its output. keep_latest is 1 if the thread is kept when it expires and only its older states are
-- deleted. ttl_us is the time to live from which expires_us was computed, or 0 if it is unknown. name is a name that
-- the client gave the thread for runs of the agent named_for, or ''.
CREATE TABLE threads (
  id          INTEGER PRIMARY KEY,
  tenant      TEXT NOT NULL,
  thread_id   TEXT NOT NULL,
  owner       TEXT NOT NULL,
  status      TEXT NOT NULL,
  metadata    BLOB NOT NULL,
  config      BLOB NOT NULL,
  interrupts  BLOB,
  agents      TEXT NOT NULL DEFAULT '',
  keep_latest INTEGER NOT NULL DEFAULT 0,
  ttl_us      BIGINT NOT NULL DEFAULT 0,
  name        TEXT NOT NULL DEFAULT '',
  named_for   TEXT NOT NULL DEFAULT '',
  created_us  BIGINT NOT NULL,
  updated_us  BIGINT NOT NULL,
  expires_us  BIGINT NOT NULL
);
CREATE UNIQUE INDEX threads_name ON threads (tenant, thread_id);
CREATE UNIQUE INDEX threads_named ON threads (tenant, owner, named_for, name) WHERE name <> '';
CREATE INDEX threads_expiry ON threads (expires_us) WHERE expires_us > 0;

-- The last event number of a thread and the head of its history. The table is narrow because every append rewrites its
-- row. prev_head and prev_base are head and base before the newest append, so that one UPDATE … RETURNING returns both.
CREATE TABLE thread_seq (
  thread    INTEGER PRIMARY KEY,
  seq       BIGINT NOT NULL,
  head      TEXT NOT NULL,
  prev_head TEXT NOT NULL,
  line      BIGINT NOT NULL,
  base      BIGINT NOT NULL,
  prev_base BIGINT NOT NULL
);

-- status is the status of the task after its newest run, status_us the time of its newest change. hooks is the number
-- of rows in hooks.
CREATE TABLE tasks (
  id                INTEGER PRIMARY KEY,
  tenant            TEXT NOT NULL,
  task_id           TEXT NOT NULL,
  owner             TEXT NOT NULL,
  thread            BIGINT NOT NULL,
  agent             TEXT NOT NULL,
  has_input         INTEGER NOT NULL,
  input             BLOB,
  additional        BLOB NOT NULL,
  topic             INTEGER NOT NULL,
  cursor_n          INTEGER NOT NULL,
  reserved_n        INTEGER NOT NULL,
  reserved_until_us BIGINT NOT NULL,
  hooks             INTEGER NOT NULL DEFAULT 0,
  status            TEXT NOT NULL,
  status_us         BIGINT NOT NULL,
  created_us        BIGINT NOT NULL,
  updated_us        BIGINT NOT NULL
);
CREATE UNIQUE INDEX tasks_name ON tasks (tenant, task_id);
CREATE INDEX tasks_agent ON tasks (tenant, agent, id);
CREATE INDEX tasks_thread ON tasks (thread, id);
CREATE INDEX tasks_status ON tasks (tenant, agent, status_us, task_id);

-- URLs that are notified of changes of a task's status. fires has the statuses, each between spaces. secret has the
-- credentials for the receiver, as JSON.
CREATE TABLE hooks (
  task       BIGINT NOT NULL,
  hook_id    TEXT NOT NULL,
  flavour    TEXT NOT NULL,
  url        TEXT NOT NULL,
  secret     BLOB NOT NULL,
  fires      TEXT NOT NULL,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (task, hook_id)
);

CREATE TABLE requests (
  task       BIGINT NOT NULL,
  n          INTEGER NOT NULL,
  has_input  INTEGER NOT NULL,
  input      BLOB,
  additional BLOB,
  PRIMARY KEY (task, n)
);

-- holder is the process that executes a running run, or '' if none does. concurrent is 0 if no other run may run on the
-- thread at the same time, 1 if the request was for a concurrent run, and 2 if the run starts like 0 but later runs may
-- be concurrent. from_seq is the thread's newest number when the run was first claimed. The run's events come after it
-- and end with last_seq. trimmed is 1 if the run has no token events (any more). stop is set on a run that is stopped
-- for a newer one: cancel, rollback, or rollback and the id of the run to start after the changes of this one have been
-- removed. left_by is the process that last held a run that is claimed again. It is only logged. cancel_reason is '' if
-- the run was not cancelled or no reason was given.
-- steps, input_tokens, output_tokens and cost_micros are totals of the run (mapping.RunTotals), written when it ends or is
-- parked. cost_micros is in millionths of a US dollar.
CREATE TABLE runs (
  id            INTEGER PRIMARY KEY,
  tenant        TEXT NOT NULL,
  run_id        TEXT NOT NULL,
  owner         TEXT NOT NULL,
  thread        BIGINT NOT NULL,
  task          BIGINT NOT NULL,
  agent         TEXT NOT NULL,
  assistant_id  TEXT NOT NULL,
  status        TEXT NOT NULL,
  parked        INTEGER NOT NULL,
  holder        TEXT NOT NULL,
  fence         BIGINT NOT NULL,
  attempt       INTEGER NOT NULL,
  strategy      TEXT NOT NULL,
  concurrent    INTEGER NOT NULL,
  flavour       TEXT NOT NULL,
  metadata      BLOB NOT NULL,
  kwargs        BLOB NOT NULL,
  options       BLOB NOT NULL,
  base          TEXT NOT NULL,
  fault         BLOB,
  stop          TEXT NOT NULL,
  cancel_reason TEXT NOT NULL DEFAULT '',
  left_by       TEXT NOT NULL DEFAULT '',
  trimmed       INTEGER NOT NULL DEFAULT 0,
  from_seq      BIGINT NOT NULL,
  last_seq      BIGINT NOT NULL,
  created_us    BIGINT NOT NULL,
  updated_us    BIGINT NOT NULL,
  started_us    BIGINT NOT NULL,
  ended_us      BIGINT NOT NULL,
  run_after_us  BIGINT NOT NULL,
  steps         BIGINT NOT NULL DEFAULT 0,
  input_tokens  BIGINT NOT NULL DEFAULT 0,
  output_tokens BIGINT NOT NULL DEFAULT 0,
  cost_micros   BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX runs_name ON runs (run_id);
CREATE INDEX runs_thread ON runs (thread, id);
CREATE INDEX runs_task ON runs (task, id);
-- Finds a thread's open runs. All running runs that exclude others have the key 0, so a thread has at most one.
CREATE UNIQUE INDEX runs_open ON runs (thread, (CASE WHEN status = 'running' AND concurrent <> 1 THEN 0 ELSE id END)) WHERE ended_us = 0;
CREATE INDEX runs_pending ON runs (agent, id) WHERE status = 'pending';
CREATE INDEX runs_due ON runs (run_after_us) WHERE status = 'pending' AND run_after_us > 0;
CREATE INDEX runs_orphan ON runs (id) WHERE status = 'running' AND parked = 0 AND holder = '';
CREATE INDEX runs_stop ON runs (holder) WHERE stop <> '';
CREATE INDEX runs_stopped ON runs (id) WHERE stop <> '';
-- Has all columns that the summary of the newest runs needs, so that it does not read the rows, which may be long.
CREATE INDEX runs_ended ON runs (tenant, ended_us, agent, status, created_us, input_tokens, output_tokens, cost_micros, thread) WHERE ended_us > 0;
CREATE INDEX runs_untrimmed ON runs (ended_us) WHERE ended_us > 0 AND trimmed = 0;

-- The runs' calls to their agents, if they are kept (inspector.capture). head is an adapter.AgentCall as JSON without
-- the bodies.
CREATE TABLE run_calls (
  run      BIGINT NOT NULL,
  n        BIGINT NOT NULL,
  head     BLOB NOT NULL,
  sent     BLOB,
  received BLOB,
  PRIMARY KEY (run, n)
);

-- line is set on events that change the state. A line is a part of the history without forks, identified by its first
-- number (0 is the line from the thread's start). Numbers only grow, so a line is a range of numbers. checkpoint is the
-- id of the checkpoint that an event creates. base is the start of the fold of its state. A positive base is the number
-- of the newest event of the line with a snapshot, which may be the event itself. 0 is the empty state. A negative base
-- is the state at the checkpoint numbered -base, from which the line forks. snapshot is the last column, so that a row
-- can be read without reading the pages of its snapshot.
CREATE TABLE events (
  id         INTEGER PRIMARY KEY,
  thread     BIGINT NOT NULL,
  seq        BIGINT NOT NULL,
  run        BIGINT,
  kind       TEXT NOT NULL,
  at_us      BIGINT NOT NULL,
  line       BIGINT,
  checkpoint TEXT,
  base       BIGINT,
  head       BLOB,
  data       BLOB,
  snapshot   BLOB
);
-- The index includes the line, so that reading a state skips tokens without reading their rows. It is not unique
-- because thread_seq already gives each number once.
CREATE INDEX events_seq ON events (thread, seq, line);
CREATE UNIQUE INDEX events_checkpoint ON events (thread, checkpoint) WHERE checkpoint IS NOT NULL;

-- The agents' ids of our threads and tasks.
CREATE TABLE links (
  thread  BIGINT NOT NULL,
  agent   TEXT NOT NULL,
  task_id TEXT NOT NULL,
  remote  TEXT NOT NULL,
  body    BLOB NOT NULL,
  PRIMARY KEY (thread, agent, task_id)
);

-- Threads whose agents are receiving a state update. Until the update is logged, no run of the thread starts and
-- nothing else changes its state. holder is the process that makes the update, and token identifies the update.
CREATE TABLE updates (
  thread INTEGER PRIMARY KEY,
  holder TEXT NOT NULL,
  token  TEXT NOT NULL
);

CREATE TABLE processes (
  owner    TEXT NOT NULL PRIMARY KEY,
  until_us BIGINT NOT NULL
);

-- hook is the notified hook, and status the reported status of the task task_id. All three are '' for the webhook of a
-- run. The deliveries of a hook are made in the order of their rows. thread_owner is the owner of the run's thread,
-- whose state a webhook contains. A row outlives its run and its hook.
CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY,
  tenant       TEXT NOT NULL,
  owner        TEXT NOT NULL DEFAULT '',
  thread_owner TEXT NOT NULL DEFAULT '',
  run_id       TEXT NOT NULL,
  task_id      TEXT NOT NULL DEFAULT '',
  hook         TEXT NOT NULL DEFAULT '',
  status       TEXT NOT NULL DEFAULT '',
  url          TEXT NOT NULL,
  headers      BLOB,
  body         BLOB NOT NULL,
  attempts     INTEGER NOT NULL,
  error        TEXT NOT NULL,
  created_us   BIGINT NOT NULL,
  due_us       BIGINT NOT NULL,
  done_us      BIGINT NOT NULL
);
CREATE INDEX outbox_due ON outbox (due_us) WHERE done_us = 0;
CREATE INDEX outbox_done ON outbox (done_us) WHERE done_us > 0;
CREATE INDEX outbox_hook ON outbox (task_id, hook, id) WHERE done_us = 0 AND hook <> '';
CREATE INDEX outbox_run ON outbox (tenant, run_id);

CREATE TABLE idempotency (
  tenant     TEXT NOT NULL,
  owner      TEXT NOT NULL DEFAULT '',
  route      TEXT NOT NULL,
  key_text   TEXT NOT NULL,
  sum        BLOB NOT NULL,
  made_id    TEXT NOT NULL,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (tenant, route, key_text)
);
CREATE INDEX idempotency_age ON idempotency (created_us);

-- thread is the key of the thread on which a cron runs, or 0 if each run creates a thread. run is the request for every
-- run, and payload is the request as the client sent it. next_us is the next tick, or 0 if the cron is disabled or has
-- ended.
CREATE TABLE crons (
  id           INTEGER PRIMARY KEY,
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
  metadata     BLOB NOT NULL,
  payload      BLOB NOT NULL,
  run          BLOB NOT NULL,
  error        TEXT NOT NULL,
  end_us       BIGINT NOT NULL,
  next_us      BIGINT NOT NULL,
  created_us   BIGINT NOT NULL,
  updated_us   BIGINT NOT NULL
);
CREATE UNIQUE INDEX crons_name ON crons (tenant, cron_id);
CREATE INDEX crons_thread ON crons (thread) WHERE thread > 0;
CREATE INDEX crons_due ON crons (next_us) WHERE next_us > 0;

-- body is the current version, as in assistant_versions. version is its number, and last the highest number in use so
-- far.
CREATE TABLE assistants (
  id           INTEGER PRIMARY KEY,
  tenant       TEXT NOT NULL,
  assistant_id TEXT NOT NULL,
  owner        TEXT NOT NULL,
  graph        TEXT NOT NULL,
  version      INTEGER NOT NULL,
  last         INTEGER NOT NULL,
  body         BLOB NOT NULL,
  created_us   BIGINT NOT NULL,
  updated_us   BIGINT NOT NULL
);
CREATE UNIQUE INDEX assistants_name ON assistants (tenant, assistant_id);

CREATE TABLE assistant_versions (
  assistant  BIGINT NOT NULL,
  version    INTEGER NOT NULL,
  body       BLOB NOT NULL,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (assistant, version)
);

CREATE TABLE agents_seen (
  name  TEXT NOT NULL PRIMARY KEY,
  at_us BIGINT NOT NULL
);

-- what is the kind of description (schemas, graph), and body the agent's response.
CREATE TABLE agent_facts (
  agent TEXT NOT NULL,
  what  TEXT NOT NULL,
  body  BLOB NOT NULL,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (agent, what)
);

-- namespace is the escaped path as bytes, which both databases compare the same way. members and tokens, computed from
-- the value as of members_us, contain the rows of item_members and item_tokens in one value. The vectors are computed
-- from the value as of vectors_us. If one of these times differs from updated_us, they must be computed again. The
-- items of a namespace are stored next to each other, so that a search reads few pages.
CREATE TABLE items (
  tenant     TEXT NOT NULL,
  owner      TEXT NOT NULL,
  namespace  BLOB NOT NULL,
  item_key   TEXT NOT NULL,
  value      BLOB NOT NULL,
  fields     BLOB,
  ttl_us     BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  updated_us BIGINT NOT NULL,
  expires_us BIGINT NOT NULL,
  tokens     BLOB,
  vectors_us BIGINT NOT NULL DEFAULT 0,
  members    BLOB,
  members_us BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, namespace, item_key)
) WITHOUT ROWID;
CREATE INDEX items_expiry ON items (expires_us) WHERE expires_us > 0;
CREATE INDEX items_unseen ON items (tenant, updated_us) WHERE vectors_us <> updated_us;
CREATE INDEX items_unindexed ON items (updated_us) WHERE members_us <> updated_us;

-- The tokens of items, for search by text (mapping/textindex). share is this token's share of the item's text, in
-- millionths. Each item with tokens also has a row with the token ''.
CREATE TABLE item_tokens (
  tenant    TEXT NOT NULL,
  token     TEXT NOT NULL,
  namespace BLOB NOT NULL,
  item_key  TEXT NOT NULL,
  share     BIGINT NOT NULL,
  PRIMARY KEY (tenant, token, namespace, item_key)
) WITHOUT ROWID;

-- The members of items' values that can be compared (rule.ItemMembers), for search with a filter.
CREATE TABLE item_members (
  tenant    TEXT NOT NULL,
  member    BLOB NOT NULL,
  namespace BLOB NOT NULL,
  item_key  TEXT NOT NULL,
  PRIMARY KEY (tenant, member, namespace, item_key)
) WITHOUT ROWID;

-- The vectors of items (mapping/vectorindex), for search by meaning, or empty if the item has no text for them. version
-- increases across all items, so that a process reads only vectors that it does not have.
CREATE TABLE item_vectors (
  tenant    TEXT NOT NULL,
  namespace BLOB NOT NULL,
  item_key  TEXT NOT NULL,
  version   BIGINT NOT NULL,
  vectors   BLOB NOT NULL,
  PRIMARY KEY (tenant, namespace, item_key)
);
CREATE INDEX item_vectors_new ON item_vectors (tenant, version);

-- One row for all vectors. mark identifies their model and fields, and owner the process that computes them. When the
-- mark changes, clearing is 1 until all vectors have been deleted.
CREATE TABLE item_index (
  id         BIGINT NOT NULL PRIMARY KEY,
  mark       TEXT NOT NULL,
  generation BIGINT NOT NULL,
  clearing   BIGINT NOT NULL,
  version    BIGINT NOT NULL,
  owner      TEXT NOT NULL
);
INSERT INTO item_index (id, mark, generation, clearing, version, owner) VALUES (1, '', 0, 0, 0, '');

-- Items whose text the embeddings endpoint refuses while it accepts others, as of the value written at updated_us.
CREATE TABLE item_failures (
  tenant     TEXT NOT NULL,
  namespace  BLOB NOT NULL,
  item_key   TEXT NOT NULL,
  updated_us BIGINT NOT NULL,
  tries      BIGINT NOT NULL,
  due_us     BIGINT NOT NULL,
  PRIMARY KEY (tenant, namespace, item_key)
);
CREATE INDEX item_failures_due ON item_failures (due_us);

-- A row with staged 1 waits for the event that names it. A row with staged 0 is visible; a path has at most one. A row
-- with staged -1 was replaced or removed by the run until_run and becomes visible again if that run is rolled back or
-- deleted. run is the run that wrote the version. It is 0 if a client wrote it, or if the version can no longer be
-- rolled back. The versions of a path are ordered by id. Copied threads share blobs: a blob is deleted with the last
-- row that refers to it.
CREATE TABLE artifacts (
  id            INTEGER PRIMARY KEY,
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
  run           BIGINT NOT NULL DEFAULT 0,
  until_run     BIGINT NOT NULL DEFAULT 0,
  created_us    BIGINT NOT NULL,
  modified_us   BIGINT NOT NULL
);
CREATE UNIQUE INDEX artifacts_path ON artifacts (thread, path) WHERE staged = 0;
CREATE UNIQUE INDEX artifacts_name ON artifacts (thread, artifact_id) WHERE staged = 0;
CREATE INDEX artifacts_thread ON artifacts (thread, artifact_id);
CREATE INDEX artifacts_versions ON artifacts (thread, path);
CREATE INDEX artifacts_blob ON artifacts (blob);

-- loose is 1 until a visible artifact has these bytes.
CREATE TABLE blobs (
  id         INTEGER PRIMARY KEY,
  created_us BIGINT NOT NULL,
  loose      INTEGER NOT NULL
);
CREATE INDEX blobs_loose ON blobs (created_us) WHERE loose = 1;

CREATE TABLE chunks (
  blob BIGINT NOT NULL,
  n    INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (blob, n)
);

-- Secrets that all bridges over this database share. The first bridge that needs one creates it.
CREATE TABLE secrets (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
);

-- For each quota in effect, an upper bound of the number of objects. Additions raise it, deletions do not lower it.
-- When it reaches the quota, the objects are counted again.
CREATE TABLE quota_counts (
  name TEXT NOT NULL PRIMARY KEY,
  n    BIGINT NOT NULL
);

-- The time until which each rate is used up.
CREATE TABLE rates (
  name  TEXT NOT NULL PRIMARY KEY,
  at_us BIGINT NOT NULL
);
