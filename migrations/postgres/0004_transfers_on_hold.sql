-- What a network moved instead of the requested amount. An attempt with it is on hold while its status is unknown.
ALTER TABLE attempts ADD COLUMN moved_amount NUMERIC(78, 0);
ALTER TABLE attempts ADD COLUMN moved_reference TEXT;
CREATE INDEX attempts_on_hold ON attempts (id) WHERE status = 'unknown' AND moved_amount IS NOT NULL;
