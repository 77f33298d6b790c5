"""The bus keeper: the only component that creates the bus's streams and consumers."""
