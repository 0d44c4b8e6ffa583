-- Secrets that all bridges over one database share, made by the first that needs one: what
-- the tokens of runs are signed with.

-- +goose Up
CREATE TABLE secrets (
  name  TEXT NOT NULL PRIMARY KEY,
  value {{bytes}} NOT NULL
);
