-- Assistants that people make over configured agents, and what thread/run agents
-- said of themselves.

-- +goose Up

-- body is the current version, as assistant_versions has it; graph and name are
-- in it too. version is its number, last the highest there is.
CREATE TABLE assistants (
  id           {{serial}},
  tenant       TEXT NOT NULL,
  assistant_id TEXT NOT NULL,
  owner        TEXT NOT NULL,
  graph        TEXT NOT NULL,
  version      INTEGER NOT NULL,
  last         INTEGER NOT NULL,
  body         {{bytes}} NOT NULL,
  created_us   BIGINT NOT NULL,
  updated_us   BIGINT NOT NULL
);
CREATE UNIQUE INDEX assistants_name ON assistants (tenant, assistant_id);

CREATE TABLE assistant_versions (
  assistant  BIGINT NOT NULL,
  version    INTEGER NOT NULL,
  body       {{bytes}} NOT NULL,
  created_us BIGINT NOT NULL,
  PRIMARY KEY (assistant, version)
);

-- what names a question (schemas, graph), body is the agent's answer.
CREATE TABLE agent_facts (
  agent TEXT NOT NULL,
  what  TEXT NOT NULL,
  body  {{bytes}} NOT NULL,
  at_us BIGINT NOT NULL,
  PRIMARY KEY (agent, what)
);
