import type { Schemas } from "./types.js";

type Hit = Schemas["Hit"];

/** A hit: its score by both names, that of the library and that of the ranking. */
export type Found = Hit & { combined_score: number };

/** The answer of a search: `results` is another name of `hits`, `threshold` of `min_score`. */
export type SearchAnswer = Omit<Schemas["SearchResult"], "hits"> & {
  hits: Found[];
  results: Found[];
  threshold: number | null;
};

/** An answer in one set of names or the other, with both. */
export function both(answer: any): SearchAnswer {
  const hits = (answer.hits ?? answer.results).map((hit: any) => {
    const score = hit.score ?? hit.combined_score;
    return { ...hit, score, combined_score: score };
  });
  const least = answer.min_score ?? answer.threshold ?? null;
  return { ...answer, hits, results: hits, min_score: least, threshold: least };
}
