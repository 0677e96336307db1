-- The review of versions: what was decided about each, and the thread of its steps.

ALTER TABLE uploaded_apps ADD COLUMN category_id TEXT REFERENCES categories (id);
ALTER TABLE uploaded_apps ADD COLUMN review_type TEXT; -- NULL: that of the preferences

ALTER TABLE uploaded_versions ADD COLUMN risks JSONB NOT NULL DEFAULT '{"permissions":[],"scripts":{},"hosts":[]}'; -- what its users should agree to
ALTER TABLE uploaded_versions ADD COLUMN requested_at TIMESTAMPTZ; -- when its review was requested
ALTER TABLE uploaded_versions ADD COLUMN claimed_by TEXT; -- the reviewer, while it is in review
ALTER TABLE uploaded_versions ADD COLUMN claimed_until TIMESTAMPTZ;
ALTER TABLE uploaded_versions ADD COLUMN changes_requested BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE uploaded_versions ADD COLUMN decided_by TEXT; -- the reviewer who has approved or rejected it
ALTER TABLE uploaded_versions ADD COLUMN appeal TEXT;
ALTER TABLE uploaded_versions ADD COLUMN excluded_reviewer TEXT; -- may not judge it
ALTER TABLE uploaded_versions ADD COLUMN replaced_by TEXT; -- the version that has replaced it
ALTER TABLE uploaded_versions ADD COLUMN yanked_by TEXT; -- who has withdrawn it
ALTER TABLE uploaded_versions ADD COLUMN published_at TIMESTAMPTZ;
CREATE INDEX uploaded_versions_waiting ON uploaded_versions (requested_at, id) WHERE status IN ('PENDING_REVIEW', 'IN_REVIEW');
CREATE INDEX uploaded_versions_decided ON uploaded_versions (requested_at, id) WHERE status IN ('APPROVED', 'REJECTED', 'PUBLISHED');
CREATE INDEX uploaded_versions_appealed ON uploaded_versions (requested_at, id) WHERE appeal = 'open';
CREATE INDEX uploaded_versions_newest ON uploaded_versions (app, id);

CREATE TABLE review_entries (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version_id TEXT COLLATE "C" NOT NULL REFERENCES uploaded_versions (id),
    position   BIGINT NOT NULL, -- in the thread, from 1
    kind       TEXT    NOT NULL,
    actor      TEXT    NOT NULL, -- the user
    role       TEXT    NOT NULL, -- in which role they acted
    comment    TEXT    NOT NULL, -- empty: the step says nothing
    created_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX review_entries_of_version ON review_entries (version_id, position);
CREATE INDEX review_entries_of_actor ON review_entries (actor, id);
