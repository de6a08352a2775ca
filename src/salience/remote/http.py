"""httpx, which the extra `client` installs."""

from salience.errors import StoreError

try:
    import httpx
except ImportError:
    raise StoreError('a server needs the extra `client`: pip install "salience[client]"') from None

__all__ = ["httpx"]
