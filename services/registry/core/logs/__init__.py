"""Log lines as they are kept and looked through: columns, the index of their letters, and what is looked for."""
