DROP TABLE image_sightings;
--
DROP TABLE image_urls;
--
DROP TABLE provenance;
--
DROP TABLE images;
--
ALTER TABLE fetches DROP COLUMN images_read;
--
ALTER TABLE fetches DROP COLUMN discovery_type;
--
ALTER TABLE domains DROP COLUMN refresh_started_at;
--
ALTER TABLE domains DROP COLUMN is_refresh_due;
