"""The tables of chats: what apps, agents and messengers keep of conversations, a shape each."""

from salience.importers.chats.assistants import ASSISTANTS
from salience.importers.chats.coding import CODING
from salience.importers.chats.messengers import MESSENGERS

CHATS = (*ASSISTANTS, *CODING, *MESSENGERS)
"""All of them; the first that fits a file counts."""
