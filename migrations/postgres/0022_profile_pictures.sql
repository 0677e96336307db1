-- The pictures that users have uploaded in place of their drawn avatars.
ALTER TABLE users ADD COLUMN picture TEXT COLLATE "C"; -- the SHA-256 of the content; NULL: there is none, nor its format and time
ALTER TABLE users ADD COLUMN picture_format TEXT;
ALTER TABLE users ADD COLUMN picture_updated_at TIMESTAMPTZ;
-- For the sweep of stored files, which keeps those that a user shows.
CREATE INDEX users_picture ON users (picture) WHERE picture IS NOT NULL;
