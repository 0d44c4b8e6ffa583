-- What a search with a filter looks for: a row for each member of an item's value that can be
-- compared (rule.ItemMembers). items.members is the same in one piece. An item's members are
-- those of its value as of members_us: where that is not updated_us they are still to be made,
-- as those of items that an older version wrote are, and its tokens with them.

-- +goose Up
ALTER TABLE items ADD COLUMN members {{bytes}};
ALTER TABLE items ADD COLUMN members_us BIGINT NOT NULL DEFAULT 0;
CREATE INDEX items_unlisted ON items (updated_us) WHERE members_us <> updated_us;
CREATE TABLE item_members (
  tenant    TEXT NOT NULL,
  member    {{bytes}} NOT NULL,
  namespace {{bytes}} NOT NULL,
  item_key  TEXT NOT NULL,
  PRIMARY KEY (tenant, member, namespace, item_key)
) {{without rowid}};
