-- Versions that the store publishes at a time, apps whose updates it publishes by itself, that were rolled back, or that are not listed.

ALTER TABLE uploaded_apps ADD COLUMN auto_publish_until TIMESTAMPTZ; -- NULL: the developer publishes updates
ALTER TABLE uploaded_versions ADD COLUMN publish_at TIMESTAMPTZ; -- NULL: it is not scheduled
ALTER TABLE uploaded_apps ADD COLUMN rolled_back_to TEXT; -- the version that new installs get; NULL: the highest
ALTER TABLE uploaded_apps ADD COLUMN is_private BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE apps ADD COLUMN is_listed BOOLEAN NOT NULL DEFAULT TRUE; -- otherwise it is found by its link only
