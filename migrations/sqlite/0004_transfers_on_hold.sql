-- What a network moved instead of the requested amount. An attempt with it is on hold while its status is unknown.
ALTER TABLE attempts ADD COLUMN moved_amount TEXT;
ALTER TABLE attempts ADD COLUMN moved_reference TEXT;
CREATE INDEX attempts_on_hold ON attempts (id) WHERE status = 'unknown' AND moved_amount IS NOT NULL;
-- Payments on hold are listed in the order of the intents that were to be paid.
CREATE INDEX attempts_on_hold_of_intent ON attempts (subject) WHERE status = 'unknown' AND moved_amount IS NOT NULL AND purpose = 'payment';
