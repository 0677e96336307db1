-- Deposits of developers, the terms that they have agreed to, and blocked users.

-- For how many days the payer waits after a revocation; the network fixes it with the first payment.
ALTER TABLE stakes ADD COLUMN waiting_days BIGINT NOT NULL DEFAULT 14;

-- The deposit that grants the passport; NULL: it was granted without one.
ALTER TABLE passports ADD COLUMN stake_id TEXT COLLATE "C";
CREATE UNIQUE INDEX passports_of_stake ON passports (stake_id) WHERE stake_id IS NOT NULL AND revoked_at IS NULL;

-- Since when the user gets no passport; NULL: they are not blocked.
ALTER TABLE users ADD COLUMN blocked_at TIMESTAMPTZ;

-- The versions of the developer terms that users have agreed to.
CREATE TABLE developer_agreements (
    user_did  TEXT        NOT NULL REFERENCES users (did),
    version   BIGINT      NOT NULL,
    agreed_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_did, version)
);
