-- Threads that were copied share the bytes of their files: those of a blob go with the last
-- row that refers to it. A process of an older version that still serves takes them with the
-- first one: while the versions are changed, no thread with files should be both copied and deleted.

-- +goose Up
DROP INDEX IF EXISTS artifacts_staged;
CREATE INDEX IF NOT EXISTS artifacts_blob ON artifacts (blob);
