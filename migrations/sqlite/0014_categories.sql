-- The names of categories are unique in each language. Reviewers see why a version is reviewed, lists of apps show their types,
-- visitors see what each version says of itself, and checks that somebody has asked for are ordered once.

CREATE UNIQUE INDEX categories_name_en ON categories (lower(name_en));
CREATE UNIQUE INDEX categories_name_zh ON categories (lower(name_zh));
CREATE INDEX uploaded_apps_category ON uploaded_apps (category_id);
ALTER TABLE uploaded_versions ADD COLUMN review_need TEXT; -- since its review was requested; NULL: it needs none
ALTER TABLE uploaded_versions ADD COLUMN checks_ordered_at INTEGER; -- NULL: nobody waits for them to be run again
ALTER TABLE uploaded_versions ADD COLUMN app_group TEXT; -- of its manifest; NULL: it is a resource
-- {"screenshots" as in apps, "license", "website", "docker", "requirements": {"server", "nodejs", "os", "cpu"},
-- "components": [{"title", "version", "required"}, ...]}; NULL: what its app shows counts
ALTER TABLE app_versions ADD COLUMN facts TEXT;
