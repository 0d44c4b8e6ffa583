-- What was kept of the calls that runs made of their agents (inspector.capture): head is an
-- adapter.AgentCall as JSON, without the bodies.

-- +goose Up
CREATE TABLE run_calls (
  run      BIGINT NOT NULL,
  n        BIGINT NOT NULL,
  head     {{bytes}} NOT NULL,
  sent     {{bytes}},
  received {{bytes}},
  PRIMARY KEY (run, n)
);
