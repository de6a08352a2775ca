"""Parts that the adapters of LangChain and LangGraph share."""
