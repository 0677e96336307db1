-- The preferences of publishing. Without the row, the defaults are in force.
CREATE TABLE preferences (
    id         BIGINT      NOT NULL PRIMARY KEY CHECK (id = 1),
    content    JSONB       NOT NULL, -- {"field": value, ...}; an absent field has its default
    version    BIGINT      NOT NULL, -- grows with each change
    changed_at TIMESTAMPTZ NOT NULL
);
