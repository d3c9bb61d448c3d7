"""What words on a careers page mean, in many languages: labels, titles, headings, dates. The words are in `tables`."""
