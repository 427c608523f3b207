-- How often each mower was paused or sent home; it only rises. Raised in the
-- transaction that records the command, so that its order against all other
-- commands of the mower is that of the commits, whichever replica made them.
CREATE TABLE calm_epochs (
    mower_id TEXT PRIMARY KEY NOT NULL,
    epoch BIGINT NOT NULL
);

-- The number that a command carries: of a calming one its own, of others that
-- of the last calming one before.
ALTER TABLE commands ADD COLUMN calm_epoch BIGINT NOT NULL DEFAULT 0;
