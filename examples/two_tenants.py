"""Two tenants of one server: each writes and finds its own, and one forgets a user.

python examples/two_tenants.py --db service.db
"""

import argparse
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from urllib.request import urlopen

from salience import Memory
from salience.access import Keyring

SCOPES = ["memories:read", "memories:write", "memories:delete"]


@contextmanager
def server(db: str, port: str) -> Iterator[str]:
    """The address of a server that is ready, until the block ends."""
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(["salience", "serve", "--db", db, "--port", port]) as process:
        try:
            while process.poll() is None:
                time.sleep(0.1)
                with suppress(OSError), urlopen(f"{url}/ready"):  # else it is not ready yet
                    break
            yield url
        finally:
            process.terminate()


def main() -> None:
    """Make a key for each tenant, serve the store, and ask it over HTTP."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", default="service.db")
    parser.add_argument("--port", default="8420")
    options = parser.parse_args()
    end = datetime.now(UTC) + timedelta(hours=1)
    with Keyring.open(options.db) as ring:
        one, two = (ring.create(t, SCOPES, expires_at=end).text for t in ("acme", "globex"))
    with (
        server(options.db, options.port) as url,
        Memory(url, api_key=one) as acme,
        Memory(url, api_key=two) as globex,
    ):
        acme.add("The invoices go to Ana in Porto.", user_id="clerk")
        globex.add("The invoices go to Ben in Oslo.", user_id="clerk")
        for memory in (acme, globex):
            print(memory.namespace, "finds", [hit.content for hit in memory.search("invoices")])
        receipt = acme.delete_user("clerk")
        print("acme forgets", receipt.memories, "memories:", receipt.disk)
        print("acme has", len(acme), "and globex has", len(globex))


if __name__ == "__main__":
    main()
