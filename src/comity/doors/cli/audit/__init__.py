"""`comity audit`: audit a site, and report audits that are stored."""
