-- account > site > group > mower. Times are milliseconds since the epoch, JSON
-- is text, yes is 1. Every `rev` is the account's `hierarchy_rev` at the last
-- change of the object: it only rises, and the account's row is the lock that
-- all changes of one account take in turn.

CREATE TABLE accounts (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    features TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    suspended BIGINT NOT NULL DEFAULT 0,
    hierarchy_rev BIGINT NOT NULL,
    rev BIGINT NOT NULL DEFAULT 0,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE sites (
    id TEXT PRIMARY KEY NOT NULL,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    address TEXT,
    time_zone TEXT NOT NULL,
    latitude DOUBLE PRECISION,
    longitude DOUBLE PRECISION,
    quiet_hours TEXT NOT NULL,
    is_default BIGINT NOT NULL,
    rev BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);

CREATE INDEX sites_of_account ON sites (account_id, id);

-- Exactly one default site for each account, whoever is first.
CREATE UNIQUE INDEX sites_default ON sites (account_id) WHERE is_default = 1;

-- A group lies in a site or, without one, in the account.
CREATE TABLE mower_groups (
    id TEXT PRIMARY KEY NOT NULL,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    site_id TEXT REFERENCES sites (id),
    name TEXT NOT NULL,
    rev BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);

CREATE INDEX groups_of_account ON mower_groups (account_id, id);
CREATE INDEX groups_of_site ON mower_groups (site_id);

CREATE TABLE mowers (
    id TEXT PRIMARY KEY NOT NULL,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    site_id TEXT NOT NULL REFERENCES sites (id),
    name TEXT NOT NULL,
    vendor TEXT NOT NULL,
    model TEXT NOT NULL,
    serial TEXT NOT NULL,
    connection_kind TEXT NOT NULL,
    connection_options TEXT NOT NULL,
    quarantined BIGINT NOT NULL DEFAULT 0,
    hierarchy_rev BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);

CREATE INDEX mowers_of_account ON mowers (account_id, id);
CREATE INDEX mowers_of_site ON mowers (site_id);

-- Over the whole installation: a machine is in one place.
CREATE UNIQUE INDEX mowers_serial ON mowers (serial);

CREATE TABLE group_members (
    mower_id TEXT NOT NULL REFERENCES mowers (id),
    group_id TEXT NOT NULL REFERENCES mower_groups (id),
    PRIMARY KEY (mower_id, group_id)
);

CREATE INDEX members_of_group ON group_members (group_id, mower_id);

-- What was deleted, for whoever asks what changed.
CREATE TABLE removed (
    id TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL,
    rev BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);

-- Changes that were announced and are not committed. What such a change may
-- have told the gateway's registry is put right from the rows; `created` names
-- the objects that may be known there alone.
CREATE TABLE changes (
    id TEXT PRIMARY KEY NOT NULL,
    account_id TEXT NOT NULL,
    created TEXT NOT NULL,
    begun_ms BIGINT NOT NULL
);

-- Events that are committed and not yet on the bus.
CREATE TABLE outbox (
    id TEXT PRIMARY KEY NOT NULL,
    subject TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_ms BIGINT NOT NULL
);

CREATE INDEX outbox_in_order ON outbox (created_ms, id);

-- What was asked, never done twice: started, done, or tombstoned.
CREATE TABLE operations (
    id TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    effect TEXT,
    status BIGINT,
    body TEXT,
    location TEXT,
    begun_ms BIGINT NOT NULL,
    ended_ms BIGINT
);

CREATE INDEX operations_ended ON operations (ended_ms);

-- Who of several replicas does what only one may do, and until when.
CREATE TABLE leaders (
    name TEXT PRIMARY KEY NOT NULL,
    holder TEXT NOT NULL,
    until_ms BIGINT NOT NULL
);
