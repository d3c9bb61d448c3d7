"""The file formats that pages are stored in: the common columns, and a writer for each format."""
