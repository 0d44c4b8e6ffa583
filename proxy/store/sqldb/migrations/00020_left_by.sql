-- Which process a run was taken from, or gave it back, when it is claimed again: holder is empty by
-- then. It is for the log alone.

-- +goose Up
ALTER TABLE runs ADD COLUMN {{unless there}} left_by TEXT NOT NULL DEFAULT '';
