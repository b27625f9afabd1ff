-- Records that searches leave out unless they are asked for: those that a host
-- wrote on somebody's behalf (flag 4), and its own bookkeeping: hidden (64), of
-- a known type (not 16), with the role system. The index makes listing them
-- cheap; its condition is the one that bookkeeping.go queries by.
CREATE INDEX IF NOT EXISTS messages_bookkeeping ON messages (id) WHERE flags & 4 <> 0 OR (flags & 80 = 64 AND role = 3);
