-- Trusted publishing: a CI exchanges its OIDC token for a short access token.

-- The workflows of CI whose tokens a developer trusts.
CREATE TABLE trusted_publishers (
    id             TEXT    NOT NULL PRIMARY KEY,
    owner          TEXT    NOT NULL REFERENCES users (did), -- the developer
    passport_id    TEXT    NOT NULL REFERENCES passports (id), -- it is valid as long as this passport is
    issuer         TEXT    NOT NULL, -- the address of the issuer, as its tokens name it
    repository     TEXT    NOT NULL, -- as the developer wrote it
    repository_key TEXT    NOT NULL, -- in lower case
    repository_id  TEXT, -- the issuer's id of the repository; NULL: the first exchange sets it
    workflow       TEXT, -- NULL: any
    environment    TEXT, -- NULL: any
    protected_refs_only INTEGER NOT NULL CHECK (protected_refs_only IN (0, 1)), -- whether other branches and tags may not publish
    scopes         TEXT    NOT NULL, -- ["scope", ...]
    apps           TEXT    NOT NULL, -- ["pattern", ...]
    created_at     INTEGER NOT NULL,
    last_used_at   INTEGER
) STRICT;
CREATE INDEX trusted_publishers_of_owner ON trusted_publishers (owner, id);
CREATE INDEX trusted_publishers_repository ON trusted_publishers (issuer, repository_key, id);

-- CI tokens that were exchanged, as long as they are valid.
CREATE TABLE used_ci_tokens (
    issuer     TEXT    NOT NULL,
    token_id   TEXT    NOT NULL, -- the jti of the token
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, token_id)
) STRICT;
CREATE INDEX used_ci_tokens_expired ON used_ci_tokens (expires_at);

-- The access tokens of CI belong to a trusted publisher and are deleted when they expire.
ALTER TABLE access_tokens ADD COLUMN publisher_id TEXT REFERENCES trusted_publishers (id); -- NULL: a developer created it
CREATE INDEX access_tokens_of_publisher ON access_tokens (publisher_id) WHERE publisher_id IS NOT NULL;
CREATE INDEX access_tokens_of_ci_expired ON access_tokens (expires_at) WHERE publisher_id IS NOT NULL;
