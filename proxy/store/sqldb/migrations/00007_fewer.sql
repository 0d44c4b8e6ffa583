-- Fewer indexes, since every run pays for each of them at its beginning and at its
-- end.

-- +goose Up

-- What is left of a thread's active runs finds them and keeps them apart: those
-- that nothing else may run beside, while they run, count as one.
DROP INDEX runs_one;
DROP INDEX runs_open;
CREATE UNIQUE INDEX runs_open ON runs (thread, (CASE WHEN status = 'running' AND concurrent <> 1 THEN 0 ELSE id END)) WHERE ended_us = 0;

-- The line is beside the number, so that reading a state passes by tokens without
-- their rows. Numbers are given by one row of thread_seq: that keeps them apart.
DROP INDEX events_state;
DROP INDEX events_seq;
CREATE INDEX events_seq ON events (thread, seq, line);
