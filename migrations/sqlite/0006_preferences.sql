-- The preferences of publishing. Without the row, the defaults are in force.
CREATE TABLE preferences (
    id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    content    TEXT    NOT NULL, -- {"field": value, ...}; an absent field has its default
    version    INTEGER NOT NULL, -- grows with each change
    changed_at INTEGER NOT NULL
) STRICT;
