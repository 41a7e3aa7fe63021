-- Purpose: remove a test's database, whoever is still connected to it.
-- Locks: ends the database's sessions.
-- Called by: localpgtest.Database, at the end of the test.
drop database if exists {{name}} with (force)
