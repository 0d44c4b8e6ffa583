-- What a search by text looks for: a row for each token of an item (mapping/textindex), and
-- with the token '' one for each item that has any. share is how much of the item's text the
-- token is, in millionths. items.tokens is the same in one piece. An item's tokens are those
-- of its value as of tokens_us: where that is not updated_us they are still to be made, as
-- those of items that an older version wrote are.

-- +goose Up
ALTER TABLE items ADD COLUMN tokens {{bytes}};
ALTER TABLE items ADD COLUMN tokens_us BIGINT NOT NULL DEFAULT 0;
CREATE INDEX items_untold ON items (updated_us) WHERE tokens_us <> updated_us;
CREATE TABLE item_tokens (
  tenant    TEXT NOT NULL,
  token     TEXT NOT NULL,
  namespace {{bytes}} NOT NULL,
  item_key  TEXT NOT NULL,
  share     BIGINT NOT NULL,
  PRIMARY KEY (tenant, token, namespace, item_key)
) {{without rowid}};
