-- An edit by which a chat goes on is no access: marked in the log, and worked out of it, after this step.
-- Which program worked out by what a memory is found, so that a check need not do it again.
ALTER TABLE memories ADD COLUMN derived_by INTEGER;
