DROP TABLE frontier_journal;
--
DROP TABLE frontier_epochs;
