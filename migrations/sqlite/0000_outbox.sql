-- Messages to deliver after a commit. A row is deleted when its job is done; a dead letter stays until it is retried.
CREATE TABLE outbox (
    id            TEXT    NOT NULL PRIMARY KEY,
    topic         TEXT    NOT NULL,
    lane          TEXT    NOT NULL, -- which workers deliver it: the topic, and for some topics the network
    payload       TEXT    NOT NULL, -- {"name": "id", ...}
    run_at        INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    attempts      INTEGER NOT NULL DEFAULT 0, -- counted when a worker claims the job, so that a crash counts
    max_attempts  INTEGER NOT NULL,
    claimed_until INTEGER,          -- the lease of the relay (before delivery) or of a worker (while it runs)
    claim         TEXT,             -- the holder of the lease; NULL: none
    last_error    TEXT,
    dead_at       INTEGER
) STRICT;

-- Due rows: past their time and without a lease.
CREATE INDEX outbox_due ON outbox (run_at) WHERE dead_at IS NULL;
CREATE INDEX outbox_lanes ON outbox (lane, run_at) WHERE dead_at IS NULL;
CREATE INDEX outbox_claimed ON outbox (claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;

-- What the store knows about the clocks of its machines.
CREATE TABLE clock_state (
    id            INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    marked_at     INTEGER, -- the latest time at which the clock was trusted
    confirmations INTEGER NOT NULL -- how often an owner has confirmed the clock
) STRICT;

-- The processes that doubt the clock of their machine: automatic work stops while there is one.
CREATE TABLE clock_doubts (
    process       TEXT NOT NULL PRIMARY KEY,
    host          TEXT NOT NULL,
    source        TEXT NOT NULL, -- what the clock differs from
    ahead_seconds INTEGER NOT NULL,
    doubted_at    INTEGER NOT NULL,
    renewals      INTEGER NOT NULL -- grows while the process still doubts
) STRICT;

-- Addresses for whose holder a confirmation link was requested. Test mode sends emails to confirmed ones only.
CREATE TABLE mail_addresses (
    address      TEXT    NOT NULL PRIMARY KEY, -- in lower case
    request      TEXT    UNIQUE,               -- names the latest request in its link; NULL: it was used
    requested_at INTEGER NOT NULL,
    confirmed_at INTEGER
) STRICT;

CREATE INDEX mail_addresses_unconfirmed ON mail_addresses (requested_at) WHERE confirmed_at IS NULL;

-- Counts per subject: those of the last hour (UTC) with one. They limit emails per address, and card forms.
CREATE TABLE hourly_counts (
    subject TEXT    NOT NULL PRIMARY KEY,
    hour    INTEGER NOT NULL,
    number  INTEGER NOT NULL
) STRICT;

CREATE INDEX hourly_counts_hour ON hourly_counts (hour);

-- Restores of this store from backups. Until it is released, the store sends nothing: its original may be running.
CREATE TABLE restores (
    restored_at      INTEGER NOT NULL PRIMARY KEY,
    backup_at        INTEGER NOT NULL,
    stopped_at       INTEGER, -- when an owner stated that the original is stopped
    stopped_by       TEXT,
    imported_at      INTEGER, -- when the last complete import from the networks began
    import_failure   TEXT,
    import_failed_at INTEGER,
    released_at      INTEGER
) STRICT;

-- Secrets of the store itself, encrypted with its key: a text by which the key is recognized, and the key of its identity after a rotation.
CREATE TABLE store_secrets (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- The mails to the owner about findings: at most one per finding and day.
CREATE TABLE owner_notices (
    day     INTEGER NOT NULL, -- days since 1970-01-01, UTC
    finding TEXT NOT NULL,
    PRIMARY KEY (day, finding)
) STRICT;

-- What processes have seen in the last minutes and the command `souk doctor` could not know: breakers that are not closed, and proxies that
-- are not trusted.
CREATE TABLE process_reports (
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL, -- a payment method, an address
    detail  TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT;
