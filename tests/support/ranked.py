"""The sample's questions ranked by the profiles; imports little, as processes start with it."""

from salience import Memory
from salience.evaluation import sample
from salience.ranking import profiles

NOW = "2026-10-01T08:00:00Z"
QUESTIONS = [question["text"] for question in sample.questions()][::3]
PROFILES = [name for name in profiles.BUILT_IN if "." not in name]
Lists = list[list[tuple[str, float]]]


def ranked(memory: Memory) -> Lists:
    """The ids and scores of the hits of each profile for each question."""
    return [
        [
            (hit.id, hit.score)
            for hit in memory.search(question, profile=profile, now=NOW, touch=False)
        ]
        for profile in PROFILES
        for question in QUESTIONS
    ]
