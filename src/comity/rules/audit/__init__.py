"""What an audit finds wrong with a site: pure rules from what it kept to findings with their pages."""
