"""Known applicant systems: their public JSON, their pages, and the boards that other pages embed."""
