-- The files of bundles. By them, versions with blocked content are found, and versions are compared.
CREATE TABLE bundle_files (
    version_id TEXT COLLATE "C" NOT NULL REFERENCES uploaded_versions (id),
    path       TEXT COLLATE "C" NOT NULL, -- below package/
    sha256     TEXT COLLATE "C" NOT NULL,
    size       BIGINT           NOT NULL, -- bytes
    PRIMARY KEY (version_id, path)
);
CREATE INDEX bundle_files_sha256 ON bundle_files (sha256, version_id);
-- With the collation of the digests that it is compared with, so that its index serves.
ALTER TABLE uploaded_versions ALTER COLUMN bundle TYPE TEXT COLLATE "C";
ALTER TABLE uploaded_versions ADD COLUMN files_total BIGINT; -- NULL: its files are not all listed yet
CREATE INDEX blocked_digests_newest ON blocked_digests (created_at DESC, sha256);
