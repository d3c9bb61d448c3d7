DROP TABLE search_words;
--
DROP TABLE search_cards;
--
DROP TABLE search_documents;
