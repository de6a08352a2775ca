"""Why a memory was returned for a query, why not, and what would change it.

reason   the question and its answer, as text and JSON   (reason.py)
absence  where a memory left, and by how much it missed   (absence.py)
change   the smallest change that turns the outcome       (change.py)
page     the answer as one HTML file                      (page.py)
"""

from salience.search.explain.counterfactuals import Change
from salience.search.explain.report import ExplainReport, explain
from salience.search.explain.why_not import OnRoute, Part, Unmet, WhyNot

__all__ = ["Change", "ExplainReport", "OnRoute", "Part", "Unmet", "WhyNot", "explain"]
