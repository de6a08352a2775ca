-- Which program worked out by what a memory is found, so that a check need not do it again.
ALTER TABLE memories ADD COLUMN derived_by INTEGER;
