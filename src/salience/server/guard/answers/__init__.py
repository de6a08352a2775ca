"""Answers that are kept for requests which are sent again: in this process, or in a shared file."""

from salience.server.guard.answers.in_file import AnswersInFile
from salience.server.guard.answers.in_memory import AnswersInMemory
from salience.server.guard.answers.kept import Answer, AnswerStore, KeptRequest

__all__ = ["Answer", "AnswerStore", "AnswersInFile", "AnswersInMemory", "KeptRequest"]
