-- When what a memory says holds, in seconds since 1970.
ALTER TABLE memories ADD COLUMN valid_from REAL;
ALTER TABLE memories ADD COLUMN valid_to REAL;
