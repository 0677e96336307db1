-- Public instances of apps: installations that have proved their key and their address.
CREATE TABLE app_instances (
    app_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- the DID of the instance
    app          TEXT        NOT NULL REFERENCES apps (did),
    owner        TEXT        NOT NULL, -- the DID of its operator, as the instance says
    url          TEXT        NOT NULL,
    visitor      TEXT        NOT NULL, -- the pseudonym of the network that sent it
    created_at   TIMESTAMPTZ NOT NULL,
    updated_at   TIMESTAMPTZ NOT NULL -- the last time that it proved both
);
CREATE INDEX app_instances_of_app ON app_instances (app, updated_at DESC, app_id);
CREATE INDEX app_instances_of_visitor ON app_instances (visitor);
CREATE INDEX app_instances_old ON app_instances (updated_at);

-- Proofs of instances that were used, as long as they are valid.
CREATE TABLE used_app_proofs (
    digest     TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- SHA-256 of what the instance has signed
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX used_app_proofs_expired ON used_app_proofs (expires_at);
