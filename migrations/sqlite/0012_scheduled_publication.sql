-- Versions that the store publishes at a time, apps whose updates it publishes by itself, that were rolled back, or that are not listed.

ALTER TABLE uploaded_apps ADD COLUMN auto_publish_until INTEGER; -- NULL: the developer publishes updates
ALTER TABLE uploaded_versions ADD COLUMN publish_at INTEGER; -- NULL: it is not scheduled
ALTER TABLE uploaded_apps ADD COLUMN rolled_back_to TEXT; -- the version that new installs get; NULL: the highest
ALTER TABLE uploaded_apps ADD COLUMN is_private INTEGER NOT NULL DEFAULT 0 CHECK (is_private IN (0, 1));
ALTER TABLE apps ADD COLUMN is_listed INTEGER NOT NULL DEFAULT 1 CHECK (is_listed IN (0, 1)); -- otherwise it is found by its link only
