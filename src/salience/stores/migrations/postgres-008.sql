-- An event names no other memory but the target of a link: what is erased is named by nothing.
UPDATE events SET payload = (payload::jsonb - 'by')::json WHERE type = 'boost';
