-- The agents of a thread: each one that a run or a task of it was made for, as
-- "/name/", one after the other, in any order. A key of auth.keys with agents sees the
-- threads whose agents it may all use: see scope.go. They stay when the runs go, since
-- what the runs said may stay in the state.

-- +goose Up
ALTER TABLE threads ADD COLUMN {{unless there}} agents TEXT NOT NULL DEFAULT '';
UPDATE threads SET agents = coalesce((SELECT string_agg('/' || a.agent || '/', '') FROM
 (SELECT agent FROM tasks WHERE thread = threads.id UNION SELECT agent FROM runs WHERE thread = threads.id) a), '');
