"""Explanations: the reasons a query returns a memory or not, and what would change that.

report           the question and its answer, as text and JSON
why_not          the filter or stage that dropped a memory, and by how much it missed
                 the smallest change of one part that turns the outcome
weights          the smallest change of one weight that does
html             the report as one HTML file
"""

from salience.ranking.rejection import OnRoute, Part, Unmet, WhyNot
from salience.search.explain.report import Against, ExplainReport, explain
from salience.search.explain.weights import WeightChange
from salience.search.explain.why_not import Change

__all__ = [
    "Against",
    "Change",
    "ExplainReport",
    "OnRoute",
    "Part",
    "Unmet",
    "WeightChange",
    "WhyNot",
    "explain",
]
