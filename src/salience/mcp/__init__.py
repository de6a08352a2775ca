"""Tools, resources and prompts for models, by the Model Context Protocol."""
