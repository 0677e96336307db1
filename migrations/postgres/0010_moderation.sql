-- Apps that are blocked, and versions that are yanked.

ALTER TABLE apps ADD COLUMN availability TEXT NOT NULL DEFAULT 'available' CHECK (availability IN ('available', 'blocked', 'withdrawn'));
ALTER TABLE app_versions ADD COLUMN is_yanked BOOLEAN NOT NULL DEFAULT FALSE; -- nobody gets it any more
UPDATE apps SET availability = 'blocked' WHERE did IN (SELECT did FROM uploaded_apps WHERE block_reason IS NOT NULL);
UPDATE app_versions SET is_yanked = TRUE WHERE id IN (SELECT id FROM uploaded_versions WHERE yanked_by IS NOT NULL);
