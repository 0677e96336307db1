-- Messages to deliver after a commit. A row is deleted when its job is done; a dead letter stays until it is retried.
CREATE TABLE outbox (
    id            TEXT        NOT NULL PRIMARY KEY,
    topic         TEXT        NOT NULL,
    lane          TEXT COLLATE "C" NOT NULL, -- which workers deliver it: the topic, and for some topics the network
    payload       JSONB       NOT NULL, -- {"name": "id", ...}
    run_at        TIMESTAMPTZ NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    attempts      BIGINT      NOT NULL DEFAULT 0, -- counted when a worker claims the job, so that a crash counts
    max_attempts  BIGINT      NOT NULL,
    claimed_until TIMESTAMPTZ,          -- the lease of the relay (before delivery) or of a worker (while it runs)
    claim         TEXT,                 -- the holder of the lease; NULL: none
    last_error    TEXT,
    dead_at       TIMESTAMPTZ
);

-- Due rows: past their time and without a lease.
CREATE INDEX outbox_due ON outbox (run_at) WHERE dead_at IS NULL;
CREATE INDEX outbox_lanes ON outbox (lane, run_at) WHERE dead_at IS NULL;
CREATE INDEX outbox_claimed ON outbox (claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;

-- What the store knows about the clocks of its machines.
CREATE TABLE clock_state (
    id            BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    marked_at     TIMESTAMPTZ, -- the latest time at which the clock was trusted
    confirmations BIGINT NOT NULL -- how often an owner has confirmed the clock
);

-- The processes that doubt the clock of their machine: automatic work stops while there is one.
CREATE TABLE clock_doubts (
    process       TEXT NOT NULL PRIMARY KEY,
    host          TEXT NOT NULL,
    source        TEXT NOT NULL, -- what the clock differs from
    ahead_seconds BIGINT NOT NULL,
    doubted_at    TIMESTAMPTZ NOT NULL,
    renewals      BIGINT NOT NULL -- grows while the process still doubts
);

-- Addresses for whose holder a confirmation link was requested. Test mode sends emails to confirmed ones only.
CREATE TABLE mail_addresses (
    address      TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- in lower case
    request      TEXT COLLATE "C" UNIQUE,               -- names the latest request in its link; NULL: it was used
    requested_at TIMESTAMPTZ      NOT NULL,
    confirmed_at TIMESTAMPTZ
);

CREATE INDEX mail_addresses_unconfirmed ON mail_addresses (requested_at) WHERE confirmed_at IS NULL;

-- Counts per subject: those of the last hour (UTC) with one. They limit emails per address, and card forms.
CREATE TABLE hourly_counts (
    subject TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hour    TIMESTAMPTZ      NOT NULL,
    number  BIGINT           NOT NULL
);

CREATE INDEX hourly_counts_hour ON hourly_counts (hour);

-- Restores of this store from backups. Until it is released, the store sends nothing: its original may be running.
CREATE TABLE restores (
    restored_at      TIMESTAMPTZ NOT NULL PRIMARY KEY,
    backup_at        TIMESTAMPTZ NOT NULL,
    stopped_at       TIMESTAMPTZ, -- when an owner stated that the original is stopped
    stopped_by       TEXT,
    imported_at      TIMESTAMPTZ, -- when the last complete import from the networks began
    import_failure   TEXT,
    import_failed_at TIMESTAMPTZ,
    released_at      TIMESTAMPTZ
);

-- Secrets of the store itself, encrypted with its key: a text by which the key is recognized, and the key of its identity after a rotation.
CREATE TABLE store_secrets (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);

-- The mails to the owner about findings: at most one per finding and day.
CREATE TABLE owner_notices (
    day     BIGINT NOT NULL, -- days since 1970-01-01, UTC
    finding TEXT NOT NULL,
    PRIMARY KEY (day, finding)
);

-- What processes have seen in the last minutes and the command `souk doctor` could not know: breakers that are not closed, and proxies that
-- are not trusted.
CREATE TABLE process_reports (
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL, -- a payment method, an address
    detail  TEXT NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (kind, subject)
);
