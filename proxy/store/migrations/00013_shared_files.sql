-- Threads that were copied share the bytes of their files: those of a blob go with the last
-- row that refers to it.

-- +goose Up
DROP INDEX IF EXISTS artifacts_staged;
CREATE INDEX IF NOT EXISTS artifacts_blob ON artifacts (blob);
