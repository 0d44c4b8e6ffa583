-- What was committed whose answer got lost, on PostgreSQL (proxy/store/postgres_commit.go). Each
-- process numbers its transactions; of those that go one after the other (a slot) the
-- newest is kept, written by the transaction itself. at_us is when, by the database's clock.

-- +goose Up
SELECT 1;
{{postgres}}CREATE TABLE IF NOT EXISTS commits (owner TEXT NOT NULL, slot INTEGER NOT NULL, n BIGINT NOT NULL, at_us BIGINT NOT NULL, PRIMARY KEY (owner, slot)) WITH (fillfactor = 50);
