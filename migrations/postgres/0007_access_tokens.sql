-- The access tokens of developers. The secret keys are stored nowhere.
CREATE TABLE access_tokens (
    id           TEXT    NOT NULL PRIMARY KEY, -- the DID of the key
    user_did     TEXT    NOT NULL REFERENCES users (did),
    passport_id  TEXT    NOT NULL REFERENCES passports (id), -- it is valid as long as this passport is
    name         TEXT    NOT NULL,
    public_key   TEXT    NOT NULL, -- base58
    scopes       JSONB   NOT NULL, -- ["scope", ...]
    apps         JSONB   NOT NULL, -- ["pattern", ...]
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    remind_at    TIMESTAMPTZ, -- when its owner gets an email; NULL: it was ordered
    last_used_at TIMESTAMPTZ -- to a minute
);

CREATE UNIQUE INDEX access_tokens_name ON access_tokens (user_did, name);
CREATE INDEX access_tokens_of_user ON access_tokens (user_did, created_at DESC);
CREATE INDEX access_tokens_reminders ON access_tokens (remind_at) WHERE remind_at IS NOT NULL;

-- Used nonces of requests signed with a token, as long as the time of the request is accepted.
CREATE TABLE request_nonces (
    token_id   TEXT    NOT NULL REFERENCES access_tokens (id),
    nonce      TEXT    NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (token_id, nonce)
);

CREATE INDEX request_nonces_expired ON request_nonces (expires_at);
