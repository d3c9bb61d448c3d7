"""An audit of a site: a crawl of its own list of visits, resumed by its site, kept in a folder of its own."""
