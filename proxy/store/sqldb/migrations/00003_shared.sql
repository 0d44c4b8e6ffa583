-- Runs that share their thread. concurrent: 0, nothing else may run on the thread
-- meanwhile; 1, the run was asked to run beside others; 2, it begins like one with
-- 0, but others may run beside it. What runs with 1 and 2 change is logged in a
-- way that it can be merged.

-- +goose Up
DROP INDEX runs_one;
CREATE UNIQUE INDEX runs_one ON runs (thread) WHERE status = 'running' AND concurrent <> 1;
