-- keep_latest: when the thread's time is over its older states go, and it stays.

-- +goose Up
ALTER TABLE threads ADD COLUMN {{unless there}} keep_latest INTEGER NOT NULL DEFAULT 0;
