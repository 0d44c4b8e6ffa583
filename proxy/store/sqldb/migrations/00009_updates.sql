-- Threads whose agents are being given a state update: until that is logged, no run of
-- theirs begins and nothing else changes their state. holder is the process that does
-- it, token the update.

-- +goose Up
CREATE TABLE updates (
  thread {{key}},
  holder TEXT NOT NULL,
  token  TEXT NOT NULL
);
