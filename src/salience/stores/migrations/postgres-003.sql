-- Which writes were committed lately: whoever's connection broke while committing looks here. The
-- number of a transaction would not tell, for a server that crashed may give it to another one.
CREATE TABLE attempts (
    namespace text COLLATE "C" NOT NULL,
    token uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, token)
);
