CREATE TABLE search_documents (
    number INTEGER NOT NULL,
    posting_id CHAR(32) NOT NULL,
    source_id CHAR(32),
    country_iso VARCHAR(2),
    level_norm VARCHAR(40),
    work_modality VARCHAR(40),
    career_type VARCHAR(40),
    international_eligible BOOLEAN,
    language VARCHAR(20),
    mission_tags TEXT DEFAULT '|' NOT NULL,
    org_name TEXT DEFAULT '' NOT NULL,
    org_key TEXT DEFAULT '' NOT NULL,
    deadline DATETIME,
    newest_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
    closed_at DATETIME,
    words TEXT,
    CONSTRAINT pk_search_documents PRIMARY KEY (number),
    CONSTRAINT uq_search_documents_posting_id UNIQUE (posting_id)
);
--
CREATE INDEX idx_search_documents_deadline ON search_documents (deadline, posting_id);
--
CREATE INDEX idx_search_documents_newest_at ON search_documents (newest_at DESC, posting_id);
--
CREATE INDEX idx_search_documents_org_key ON search_documents (org_key);
--
CREATE TABLE search_cards (
    number INTEGER NOT NULL,
    card JSON NOT NULL,
    CONSTRAINT pk_search_cards PRIMARY KEY (number),
    CONSTRAINT fk_search_cards_number FOREIGN KEY(number) REFERENCES search_documents (number) ON DELETE CASCADE
);
--
CREATE VIRTUAL TABLE search_words USING fts5(title, org, about, body, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');
