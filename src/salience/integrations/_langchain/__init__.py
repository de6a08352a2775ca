"""What the adapters of LangChain and LangGraph share."""
