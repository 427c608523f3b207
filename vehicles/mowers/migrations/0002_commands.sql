-- One row for each command, committed before the command is published; a stop
-- is published first. Times are milliseconds since the epoch.

CREATE TABLE commands (
    id TEXT PRIMARY KEY NOT NULL,
    mower_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- The command with its parameters, JSON.
    command TEXT NOT NULL,
    -- Who issued it, JSON.
    issued_by TEXT NOT NULL,
    issued_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    correlation_id TEXT NOT NULL,
    bulk_id TEXT,
    plan_id TEXT,
    -- Why the area counts as clear: 'confirmed' or 'approval'.
    area_clear TEXT,
    -- What decided it: revision of the mower, decision, policy bundle.
    hierarchy_rev BIGINT NOT NULL,
    decision_id TEXT,
    bundle TEXT,
    stop_epoch BIGINT NOT NULL,
    status TEXT NOT NULL,
    -- 0 pending, 1 accepted, 2 final; it only rises.
    rank BIGINT NOT NULL,
    reason TEXT,
    result_ms BIGINT,
    -- A second, different final that came later.
    late_status TEXT,
    late_reason TEXT,
    late_ms BIGINT
);

CREATE INDEX commands_of_account ON commands (account_id, issued_ms, id);
CREATE INDEX commands_of_mower ON commands (mower_id, issued_ms, id);
CREATE INDEX commands_of_bulk ON commands (bulk_id) WHERE bulk_id IS NOT NULL;
CREATE INDEX commands_by_age ON commands (issued_ms);

-- What was asked of many mowers at once; its commands carry its id.
CREATE TABLE bulks (
    id TEXT PRIMARY KEY NOT NULL,
    account_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- 'account', 'site' or 'group'
    target_type TEXT NOT NULL,
    target_id TEXT NOT NULL,
    issued_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);

CREATE INDEX bulks_by_age ON bulks (issued_ms);

-- The last stop of each mower; it only rises.
CREATE TABLE stop_epochs (
    mower_id TEXT PRIMARY KEY NOT NULL,
    epoch BIGINT NOT NULL
);

-- The lives of replicas that have not ended in order.
CREATE TABLE lives (
    replica TEXT PRIMARY KEY NOT NULL,
    begun_ms BIGINT NOT NULL
);

-- Who drove which mower by hand, from when to when. Frames are never stored.
CREATE TABLE drive_sessions (
    id TEXT PRIMARY KEY NOT NULL,
    mower_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    -- Who holds it, JSON.
    holder TEXT NOT NULL,
    opened_ms BIGINT NOT NULL,
    ended_ms BIGINT,
    -- Why it ended: 'closed', 'idle', 'stopped' or 'lost'.
    ended_by TEXT,
    frames BIGINT NOT NULL
);

CREATE INDEX drive_sessions_of_mower ON drive_sessions (mower_id, opened_ms);
