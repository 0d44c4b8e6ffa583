-- Files that runs replace or remove stay, out of sight (staged -1), so that they come
-- back when the run is rolled back or deleted. run is the run that wrote a version,
-- 0 for a client or where nothing can be taken back any more; until_run is the one
-- that took it out of sight. The versions of a path follow each other by id.

-- +goose Up
ALTER TABLE artifacts ADD COLUMN run BIGINT NOT NULL DEFAULT 0;
ALTER TABLE artifacts ADD COLUMN until_run BIGINT NOT NULL DEFAULT 0;
CREATE INDEX artifacts_versions ON artifacts (thread, path);
