-- The files of bundles. By them, versions with blocked content are found, and versions are compared.
CREATE TABLE bundle_files (
    version_id TEXT    NOT NULL REFERENCES uploaded_versions (id),
    path       TEXT    NOT NULL, -- below package/
    sha256     TEXT    NOT NULL,
    size       INTEGER NOT NULL, -- bytes
    PRIMARY KEY (version_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX bundle_files_sha256 ON bundle_files (sha256, version_id);
ALTER TABLE uploaded_versions ADD COLUMN files_total INTEGER; -- NULL: its files are not all listed yet
CREATE INDEX blocked_digests_newest ON blocked_digests (created_at DESC, sha256);
