DROP TABLE search_cards;
--
DROP TABLE search_documents;
