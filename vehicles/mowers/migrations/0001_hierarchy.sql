-- account > site > group > mower. Times are milliseconds since the epoch.

CREATE TABLE accounts (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    features TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    hierarchy_rev BIGINT NOT NULL,
    created_ms BIGINT NOT NULL
);
