-- The computers on which users are signed in with the command line. The secret keys are stored nowhere.
CREATE TABLE devices (
    id         TEXT    NOT NULL PRIMARY KEY, -- the DID of the key
    user_did   TEXT    NOT NULL REFERENCES users (did),
    name       TEXT    NOT NULL, -- what the command line calls itself
    public_key TEXT    NOT NULL, -- base58
    created_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ NOT NULL, -- to a minute
    expires_at TIMESTAMPTZ NOT NULL
);

CREATE INDEX devices_of_user ON devices (user_did, used_at DESC);
CREATE INDEX devices_expiry ON devices (expires_at);
