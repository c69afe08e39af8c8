"""memlog behind interfaces that agents speak: Anthropic's memory tool, LangGraph's store."""
