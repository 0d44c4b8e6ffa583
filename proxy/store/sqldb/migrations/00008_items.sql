-- Items of a namespace beside each other: there is one tree instead of a table and an
-- index, so that a search reads a few pages instead of one for each item it passes,
-- and a write changes one page. PostgreSQL has no such tables; its items keep their
-- numbers, which nobody asks for any more.

-- +goose Up
SELECT 1;
{{sqlite}}CREATE TABLE items_beside (tenant TEXT NOT NULL, namespace {{bytes}} NOT NULL, item_key TEXT NOT NULL, owner TEXT NOT NULL, value {{bytes}} NOT NULL, fields {{bytes}}, ttl_us BIGINT NOT NULL, created_us BIGINT NOT NULL, updated_us BIGINT NOT NULL, expires_us BIGINT NOT NULL, PRIMARY KEY (tenant, namespace, item_key)) WITHOUT ROWID;
{{sqlite}}INSERT INTO items_beside SELECT tenant, namespace, item_key, owner, value, fields, ttl_us, created_us, updated_us, expires_us FROM items ORDER BY tenant, namespace, item_key;
{{sqlite}}DROP TABLE items;
{{sqlite}}ALTER TABLE items_beside RENAME TO items;
{{sqlite}}CREATE INDEX items_expiry ON items (expires_us) WHERE expires_us > 0;
