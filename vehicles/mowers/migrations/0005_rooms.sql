-- The room of each mower in the command stream. Together with its calm epoch
-- `taken` is no fewer than its commands there: others are added one by one, and
-- counted anew only where the sum says that it is full. Its row is also the
-- lock that all but calming commands to one mower take in turn.
CREATE TABLE rooms (
    mower_id TEXT PRIMARY KEY NOT NULL,
    taken BIGINT NOT NULL
);
