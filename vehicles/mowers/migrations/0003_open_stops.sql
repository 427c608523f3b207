-- Stops whose end is not known yet: few at any time, looked at every few
-- seconds.
CREATE INDEX commands_open_stops ON commands (issued_ms)
    WHERE kind = 'emergency_stop' AND rank < 2;
