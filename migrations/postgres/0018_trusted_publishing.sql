-- Trusted publishing: a CI exchanges its OIDC token for a short access token.

-- The workflows of CI whose tokens a developer trusts.
CREATE TABLE trusted_publishers (
    id             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner          TEXT        NOT NULL REFERENCES users (did), -- the developer
    passport_id    TEXT COLLATE "C" NOT NULL REFERENCES passports (id), -- it is valid as long as this passport is
    issuer         TEXT COLLATE "C" NOT NULL, -- the address of the issuer, as its tokens name it
    repository     TEXT        NOT NULL, -- as the developer wrote it
    repository_key TEXT COLLATE "C" NOT NULL, -- in lower case
    repository_id  TEXT, -- the issuer's id of the repository; NULL: the first exchange sets it
    workflow       TEXT, -- NULL: any
    environment    TEXT, -- NULL: any
    protected_refs_only BOOLEAN NOT NULL, -- whether other branches and tags may not publish
    scopes         JSONB       NOT NULL, -- ["scope", ...]
    apps           JSONB       NOT NULL, -- ["pattern", ...]
    created_at     TIMESTAMPTZ NOT NULL,
    last_used_at   TIMESTAMPTZ
);
CREATE INDEX trusted_publishers_of_owner ON trusted_publishers (owner, id);
CREATE INDEX trusted_publishers_repository ON trusted_publishers (issuer, repository_key, id);

-- CI tokens that were exchanged, as long as they are valid.
CREATE TABLE used_ci_tokens (
    issuer     TEXT COLLATE "C" NOT NULL,
    token_id   TEXT COLLATE "C" NOT NULL, -- the jti of the token
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (issuer, token_id)
);
CREATE INDEX used_ci_tokens_expired ON used_ci_tokens (expires_at);

-- The access tokens of CI belong to a trusted publisher and are deleted when they expire.
ALTER TABLE access_tokens ADD COLUMN publisher_id TEXT COLLATE "C" REFERENCES trusted_publishers (id); -- NULL: a developer created it
CREATE INDEX access_tokens_of_publisher ON access_tokens (publisher_id) WHERE publisher_id IS NOT NULL;
CREATE INDEX access_tokens_of_ci_expired ON access_tokens (expires_at) WHERE publisher_id IS NOT NULL;
