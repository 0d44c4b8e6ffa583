-- What a search by meaning looks for. item_vectors has a row for each item that was looked at:
-- its vectors behind each other (mapping/vectorindex), none where it has no text for them. An
-- item's vectors are those of its value as of items.vectors_us: where that is not updated_us
-- they are still to be made. version counts up over all items, so that a process reads what
-- is new to it alone.
--
-- The one row of item_index says what all of the vectors are of (mark), and who makes them
-- (owner, a process). When another mark is wanted, clearing is 1 until all are gone.

-- +goose Up
ALTER TABLE items ADD COLUMN vectors_us BIGINT NOT NULL DEFAULT 0;
CREATE INDEX items_unseen ON items (updated_us) WHERE vectors_us <> updated_us;
CREATE TABLE item_vectors (
  tenant    TEXT NOT NULL,
  namespace {{bytes}} NOT NULL,
  item_key  TEXT NOT NULL,
  version   BIGINT NOT NULL,
  vectors   {{bytes}} NOT NULL,
  PRIMARY KEY (tenant, namespace, item_key)
);
CREATE INDEX item_vectors_new ON item_vectors (tenant, version);
CREATE TABLE item_index (
  id         BIGINT NOT NULL PRIMARY KEY,
  mark       TEXT NOT NULL,
  generation BIGINT NOT NULL,
  clearing   BIGINT NOT NULL,
  version    BIGINT NOT NULL,
  owner      TEXT NOT NULL
);
INSERT INTO item_index (id, mark, generation, clearing, version, owner) VALUES (1, '', 0, 0, 0, '');
