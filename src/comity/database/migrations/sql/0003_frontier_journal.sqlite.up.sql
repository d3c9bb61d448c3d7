CREATE TABLE frontier_epochs (
    domain_id CHAR(32) NOT NULL,
    epoch VARCHAR(16) NOT NULL,
    batch BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_frontier_epochs PRIMARY KEY (domain_id),
    CONSTRAINT fk_frontier_epochs_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
--
CREATE TABLE frontier_journal (
    domain_id CHAR(32) NOT NULL,
    batch BIGINT NOT NULL,
    payload BLOB NOT NULL,
    CONSTRAINT pk_frontier_journal PRIMARY KEY (domain_id, batch),
    CONSTRAINT fk_frontier_journal_domain_id FOREIGN KEY(domain_id) REFERENCES domains (id) ON DELETE CASCADE
);
