-- Invitations to become a developer, a reviewer or an administrator. Only the hashes of their links are stored.
CREATE TABLE invitations (
    id         TEXT    NOT NULL PRIMARY KEY,
    token      BYTEA   NOT NULL UNIQUE,
    role       TEXT    NOT NULL,
    created_by TEXT    NOT NULL, -- the administrator; it is valid as long as they could create it
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    used_by    TEXT,
    used_at    TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ
);

CREATE INDEX invitations_open ON invitations (expires_at) WHERE used_at IS NULL AND revoked_at IS NULL;
CREATE INDEX invitations_of_user ON invitations (used_by, id) WHERE used_by IS NOT NULL;

CREATE INDEX apps_developer ON apps (developer_did);
