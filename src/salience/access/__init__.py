"""Access: keys with scopes and namespaces, kept in the store and checked at every door."""

from salience.access.keyring import Keyring, Refusal
from salience.access.plans import NewKey
from salience.access.principal import LOCAL, SCOPES, Principal
from salience.api.operations import Scope

__all__ = ["LOCAL", "SCOPES", "Keyring", "NewKey", "Principal", "Refusal", "Scope"]
