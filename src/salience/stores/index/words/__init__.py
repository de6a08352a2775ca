"""The words of a namespace: postings, BM25 and ts_rank over them, phrases and prefixes."""
