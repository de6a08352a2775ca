"""Remote: `Memory` and `AsyncMemory` over HTTP, for URLs that begin with http.

calls      the operations of a server as a table: verb, path, how an answer is read
wire       arguments as JSON
errors     answers that tell of an error -> the exceptions that an embedded memory raises
settings   the address of a server, and what requests to it share
retries    which requests are sent again, and when
transport  requests over HTTP
memory     `RemoteMemory`
keys       `RemoteKeys`: the keys of a server
client     `Client`, whose methods are grouped as client.memories.create(...)
"""
