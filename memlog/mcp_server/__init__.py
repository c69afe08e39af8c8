"""memlog as a server of the Model Context Protocol: four tools and the index, for one scope.

`memlog mcp` runs it over standard input and output, `memlog mcp --http 127.0.0.1:8808` over
streamable HTTP. `notes` opens the log when it is first asked, `protocol` answers requests, `stdio`
and `http` carry them, `access` says who may ask over HTTP.
"""
