import type { Schemas } from "./types.js";

type Hit = Schemas["Hit"];
type Result = Omit<Hit, "score" | "importance"> & { combined_score: number; importance_score: number };

/** What the server answers: a search in other names has its answer in those. */
export type WireAnswer = Omit<Schemas["SearchResult"], "hits" | "min_score"> &
  ({ hits: Hit[]; min_score: number | null } | { results: Result[]; threshold: number | null });

/** A memory that a search returns, with its scores by both names. */
export type FoundMemory = Hit & { combined_score: number; importance_score: number };

/** A memory with its scores as they count: 0.5 where it has none. */
export type ScoredMemory = Schemas["MemoryRecord"] & { importance_score: number; relevance_score: number };

/** A memory with its scores. */
export function scored(memory: Schemas["MemoryRecord"]): ScoredMemory {
  return { ...memory, importance_score: memory.importance ?? 0.5, relevance_score: memory.relevance_score ?? 0.5 };
}

/** The answer of a search: `results` is another name of `hits`, `threshold` of `min_score`. */
export type SearchAnswer = Omit<Schemas["SearchResult"], "hits"> & {
  hits: FoundMemory[];
  results: FoundMemory[];
  threshold: number | null;
};

/** An answer in both sets of names. */
export function inBothNames(answer: WireAnswer): SearchAnswer {
  const least = "hits" in answer ? answer.min_score : answer.threshold;
  const hits =
    "hits" in answer
      ? answer.hits.map((hit) => ({ ...hit, combined_score: hit.score, importance_score: hit.importance }))
      : answer.results.map((result) => ({
          ...result,
          score: result.combined_score,
          importance: result.importance_score,
        }));
  return { ...answer, hits, results: hits, min_score: least, threshold: least };
}
