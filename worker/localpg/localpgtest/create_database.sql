-- Purpose: one empty database for one test. {{name}} is put in quoted, because
--   CREATE DATABASE takes no parameters.
-- Locks: none that a test could meet; template1 has no sessions.
-- Called by: localpgtest.Database.
create database {{name}}
