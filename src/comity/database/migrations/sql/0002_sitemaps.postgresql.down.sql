DROP TABLE sitemaps;
--
ALTER TABLE domain_frontier DROP COLUMN sitemap_priority;
--
ALTER TABLE domain_frontier DROP COLUMN changefreq;
--
ALTER TABLE domain_frontier DROP COLUMN lastmod;
