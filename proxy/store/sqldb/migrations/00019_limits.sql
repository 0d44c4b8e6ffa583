-- How much keys and tenants use of what is bounded (docs/limits.md). quota_counts has, for each
-- quota that is in force, a number that what is counted does not pass: additions raise it, deletions
-- leave it, and it is counted anew when it has reached the quota. rates has when a rate was used up to,
-- for the bridges of one PostgreSQL database, which may be lost with the machine.

-- +goose Up
CREATE TABLE quota_counts (
  name TEXT NOT NULL PRIMARY KEY,
  n    BIGINT NOT NULL
);
SELECT 1;
{{sqlite}}CREATE TABLE rates (name TEXT NOT NULL PRIMARY KEY, at_us BIGINT NOT NULL);
{{postgres}}CREATE UNLOGGED TABLE rates (name TEXT NOT NULL PRIMARY KEY, at_us BIGINT NOT NULL) WITH (fillfactor = 50);
