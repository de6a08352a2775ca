"""recollect: the memory of an AI agent, and the engine that recalls what matters now.

The map, in flow order:

    engine/              Memory and AsyncMemory: checks what is asked, one line a method
      memory.py          opening, settings and closing; every theme of methods comes together here
      writing.py         methods that add, change and erase
      recalling.py       methods that search, explain and read
      life.py            methods for links, what takes the place of what, and how alive memories are
      upkeep.py          prune, archive, restore, consolidate, maintain, audit, undo
      face.py            how a plan is run, at once or awaited
      core.py            what both faces share: settings, and a plan for each thing one can ask
    search.py            the plan of a search: analyse, embed, rank, read, touch
    adding.py            the plan of add: each item becomes a memory, or is told why not
    dedup.py             facts about to be written, held against those there are
    items.py              what a caller gives to be written, checked field by field
    write.py             the plans of update, link and delete, and what adding is made of
    linking.py           links by name, pending until there is such a memory
    copying.py           copying between stores, and a check
    reembed.py           the plan of making all vectors anew
    chunks.py            chats as questions with their answers, and as whole sessions
    facets.py            what somebody says of who they are, what they like and what was
    messages.py          chat messages as items, a turn each
    differences.py       in what two alike texts differ so that both have to be kept
    compare.py           one query under several profiles
    life.py              the plans of using, judging and superseding memories, and of their history
    verify.py            whether memories are what their log says
    zones.py             how alive each memory is
    upkeep/              what keeps a store healthy: previewed, recorded, undone
      runs.py            changes made together under one name, and undone by it
      pruning.py         what has faded, to the archive and back
      boosts.py          what the use of a memory lends to those linked with it
      consolidation.py   what says the same, as one memory
      clusters.py        groups of vectors that are alike, a block of rows at a time
      maintenance.py     everything that is due, in one command
      lock.py            a lock in the store, so that only one maintains it
      audit.py           what is wrong with how many memories, and what mends it
      junk.py            texts that no question can be answered with, by plain rules
      shares.py          how many were in which zone, time after time, by the log
      drawing.py         a picture of it
    why/                 why a memory is returned or not, and what would change it
      reason.py          Reason: the question and its answer
      absence.py         where a memory left, and by how much it missed
      change.py          the smallest change that turns the outcome
      page.py            the answer as one HTML page
    context/             what matters for a query, written down within a token budget
      sections.py        where each section draws its memories from, and how much room it has
      packing.py         which memories fit, whole or cut
      formats.py         text, markdown, xml, chat messages
      assembly.py        the plan of it all, and what each line came from
    analysis.py          reads a question: its terms, names and dates, the kind of answer it wants
    dates.py             the dates that a question names, as texts name them and as a past time
    when.py              the stretch of time that a question names
    entities.py          what a text names, by rules; when two names mean the same
    lexicon.py           the English word lists and patterns that reading draws on
    query.py             Query and Reading: one search, analysed
    profiles.py          the built-in profiles
    profile.py           Profile: a named pipeline as data, JSON both ways; Ranked: a finished run
    formula.py           a profile's formulas as text
    notation.py          stages, routes and signals as JSON, and back with errors that say where
    stages/              each turns a table into another; >> joins them to a pipeline
      core.py            Stage, Pipeline, and scoring
      recall.py          the union of what routes find
      spread.py          activation that follows links
      conflict.py        who loses to whom it contradicts
      least.py           a lower bound on a column
      sessions.py        whole sessions before their turns; what was said before and after
      mmr.py             relevance against redundancy
      pack.py            the best, the k best, and what fits a token budget
    routes.py            where candidates come from, as data: lexical, vector, trigram ...
    candidates.py        Candidates: the working table of one search, one array a column
    expr.py              the algebra of signals: col, + - * /, default, named, exp, minimum ...
    evaluation.py        the values of a formula's parts over one table, each computed once
    weights.py           which named parts a formula weighs, and the same with other weights
    signals/             signals with formulas of their own, a module for each family
      scaling.py         in proportion to the other candidates: min-max, share of the largest
      factors.py         similarity, importance, access, feedback, strength, confidence
      times.py           ages and forgetting
      asked.py           whose words, when, and of what the question speaks
      sessions.py        what was said around a memory
      fusion.py          one number from the ranks of several routes
      vitality.py        how alive a memory is, from its use and its links
      validity.py        which facts held at the time that a question is about
    explain.py           Explanation: the tree of a score
    results.py           SearchResult and Hit
    plan.py              Plan, ask, drive: the only place where a plan meets the world
    ops.py               every request to the world outside, as data
    rewind.py            a namespace as it was at a time, out of what is there and its log
    world.py             a store, an embedder and an extractor behind one batch
    stores/              where memories live; open_store picks one by its URL
      protocol.py        Store: one method that answers a batch of operations
      embedded.py        a durable side, and an index in memory for each namespace that is used
      indexed.py         what is answered out of indexes in memory
      records.py         Records: what the durable side does
      codec.py           between a record and the plain values a store keeps
      paging.py          cursors: where a listing goes on
      sqlite.py          the records of a SQLite file: writing
      sqlite_read.py     the records of a SQLite file: reading, and the change feed
      sqlite_log.py      the log of a SQLite file
      sqlite_file.py     opening a file: whose it is, its schema, errors that say what to do
      touches.py         accesses that wait to be written together
      helper.py          a second thread for what can go on beside one's own work
      ram.py             the records in dictionaries
      ram_read.py        what an index is built from, out of dictionaries
    stores/migrations/   the schemas as SQL files, a number each
    stores/postgres/     the store on PostgreSQL: for many processes, and for more than they hold
      store.py           operations to steps
      waiting.py         accesses that wait to be written together
      answers.py         who is named, what routes find, exact scores
      stored.py          what is kept of rows, ids, listings and links
      routes.py          what each route finds in a namespace
      best.py            the best of all memories by a formula, ranked by the server
      threshold.py       the best of all memories by a formula, without reading every memory
      formula.py         signals as SQL
      orders.py          along which orders of all memories a formula rises
      masks.py           filters, cut so that most of them cost nothing
      where.py           filters as SQL
      spelled.py         names as they are spelt
      beginnings.py      beginnings of words, and phrases
      segments.py        postings in tables
      indexes.py         indexes of vectors for large namespaces
      known.py           what a process knows of a namespace, by version
      spaces.py          the namespaces that a process used lately
      kept.py            answers out of the process's own memory, by indexes as with SQLite
      keeping.py         which namespaces are kept so, reading them and keeping them current
      feed.py            what these are read from the server with
      sight.py           what a search has seen, so that it takes two round trips
      seen.py            what it has read of memories, column by column
      around.py          links of memories, and who stands beside them
      draft.py           what is about to be written to a namespace
      turns.py           the order of turns in the sessions that a write changes
      statistics.py      what the server believes of how much there is
      writing.py         new memories, as steps of one transaction
      happening.py       the log, and what it makes of memories; accesses
      changing.py        erasures, vectors made anew
      schema.py          which version a database has, and bringing it up to date
      cluster.py         Citus: the tables of a database spread over a cluster
      commands.py        what is sent to a server, as data
      talks.py           transactions, trip by trip
      database.py        connections, and sending and waiting
      awaited.py         the same for asyncio
      trouble.py         trying again, and what errors say
      values.py          vectors and arrays between NumPy and PostgreSQL
    index/               the index of one namespace, over NumPy arrays
      namespace.py       what routes find in it, and by what score
      loaded.py          the memories as arrays, kept current by the change feed
      columns.py         fields as arrays, and filters over them
      source.py          where an index gets its memories from, and what it is told of changes
      lexical.py         the words of a namespace: postings, phrases, beginnings of words
      relevance.py       how relevant every memory is to the words of a query
      bm25.py            by BM25
      ts_rank.py         by PostgreSQL's ts_rank
      vocabulary.py      the words as strings, for beginnings of words
      exact.py           which values are, or hold, a name
      postings.py        which memories hold which term, in immutable segments
      sessions.py        the turns before and after each memory
      names.py           what people are called besides their names
      trigrams.py        similarity of spelling
      vectors.py         exact cosines, and which memories are worth one
      codes.py           two-bit codes of vectors
      growable.py        an array that grows at its end
    embed/               embedders; resolve finds one by its name
      protocol.py        Embedder and its identity: the law that each of them keeps
      static.py          the default: averaged token vectors, offline
      openai.py          services that speak the OpenAI embeddings protocol
      sentence_transformers.py  models run on this machine
      cache.py           the rows of the last queries
    graph.py             what the links tell of each memory
    cuts.py              which memories hold a graph together, kept current edge by edge
    features.py          what is told of a memory once, when it is written
    text.py              words, stems, term hashes, trigrams, tokens
    filters.py           which memories may be candidates at all
    events.py            what happened to memories, and what each event makes of one
    memory.py            MemoryRecord, Link, outcomes of a write; the checks of every value
    fields.py            the fields of a memory, declared once
    errors.py            every error raised on purpose
    importers/           files to memories; the format is detected
      jsonl.py           JSON lines, with or without messages
      markdown.py        notes with front matter, tags and wiki links
      conversation.py    a conversation with questions, as evaluate takes it
      chatgpt.py         ChatGPT exports
    evaluate/            measuring
      conversations.py   a folder of conversations with questions
      run.py             every profile and embedder on every set, through the real store
      metrics.py         recall, hit rate, MRR, nDCG
      bench.py           speed and memory, each task in a process of its own
      texts.py           synthetic conversations of any length
      updates.py         invented facts that change, asked now and back then
      year.py            a simulated year of writing, linking and use
    sample/              an invented agent's memories, for the demo
    testing/             for tests of one's own
      conformance.py     what every store has to do, as a test suite
      embedder.py        an embedder without a model
      postgres.py        a PostgreSQL server of one's own
    serve/cli/           the command line
      app.py             the options that all commands share, and the commands
      settings.py        what options mean
      writing.py         add, update, delete, reembed
      importing.py       import
      recall.py          search, explain, compare, context, profiles
      insight.py         what is printed of explain, compare, context and profiles
      life.py            history, touch, feedback, supersede and the like, verify
      reading.py         get, list, zones, stats
      upkeep.py          prune, archive, restore, consolidate, undo, maintain, audit
      report.py          report: how memories fade, as figures and as a picture
      moving.py          migrate, index, copy
      measuring.py       eval, bench
      demo.py            demo
      output.py          results to stdout, everything else to stderr
      render.py          tables and trees for people
"""

from recollect.compare import Comparison
from recollect.context import Context, Section
from recollect.engine import AsyncMemory, Memory
from recollect.errors import RecollectError
from recollect.events import Event
from recollect.explain import Explanation
from recollect.life import History
from recollect.memory import AddResult, Link, MemoryRecord
from recollect.profile import Profile
from recollect.results import Hit, SearchResult
from recollect.verify import Verification
from recollect.why import Reason

__version__ = "0.1.0"

__all__ = [
    "AddResult",
    "AsyncMemory",
    "Comparison",
    "Context",
    "Event",
    "Explanation",
    "History",
    "Hit",
    "Link",
    "Memory",
    "MemoryRecord",
    "Profile",
    "Reason",
    "RecollectError",
    "SearchResult",
    "Section",
    "Verification",
]
