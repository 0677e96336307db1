-- Sessions in which the tools of developers wait for an answer in the browser.
CREATE TABLE tool_sessions (
    token          TEXT    NOT NULL PRIMARY KEY,
    action         TEXT    NOT NULL,
    status         TEXT    NOT NULL,
    source         TEXT    NOT NULL, -- what the tool calls itself
    address        TEXT, -- the network address of the request
    encryption_key BLOB, -- X25519: what the answer is sealed to; NULL: the answer is not secret
    apps           TEXT    NOT NULL, -- ["name", ...]
    config         TEXT, -- the answer: a sealed box in base64, or the public keys of apps in JSON
    error          TEXT    NOT NULL,
    visitor        TEXT    NOT NULL, -- the pseudonym of the network that began it
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX tool_sessions_of_visitor ON tool_sessions (visitor, created_at, token);
CREATE INDEX tool_sessions_expiry ON tool_sessions (expires_at);
