"""Jobs in JSON responses: by mapping, by known applicant system, or by the list that looks most like jobs."""
