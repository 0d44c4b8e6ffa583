-- Runs that are to be stopped for newer ones: found again by the process that comes
-- after one that died over it. stop is "cancel", "rollback", or "rollback " and the
-- id of the run that starts when what the other did is gone.

-- +goose Up
CREATE INDEX runs_stopped ON runs (id) WHERE stop <> '';
