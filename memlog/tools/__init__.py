"""The four tools with which an agent keeps, finds, reads and links notes.

    tools = Tools(log.scope("owner", "alice"), actor="agent:claude", conversation_id="c-17")
    client.chat.completions.create(tools=specs("openai"), …)
    result = tools.call("memory_search", '{"query": "deploy key"}')
    result.text            # for the model
    result.structured      # for programs; fits `output_schema("memory_search")`

No call raises: a refusal is a sentence for the model, and leaves the log as it was. A model sets
neither provenance nor actor nor scope, pins nothing untrusted, and does not change a person's
pinned notes (`memlog.guard`).
"""

from memlog.tools.call import ToolResult as ToolResult
from memlog.tools.call import Tools as Tools
from memlog.tools.specs import EFFECTS as EFFECTS
from memlog.tools.specs import TOOL_NAMES as TOOL_NAMES
from memlog.tools.specs import Effect as Effect
from memlog.tools.specs import Form as Form
from memlog.tools.specs import effect as effect
from memlog.tools.specs import output_schema as output_schema
from memlog.tools.specs import specs as specs

tool_specs = specs
