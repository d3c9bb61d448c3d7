"""An audit of a site: a crawl with its own list of visits, resumed by its site, kept in its own folder."""
