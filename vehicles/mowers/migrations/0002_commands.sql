-- One row for each command; written and committed before it is published.

CREATE TABLE commands (
    id TEXT PRIMARY KEY NOT NULL
);
