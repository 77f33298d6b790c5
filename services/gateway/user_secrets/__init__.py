"""User secrets: named values of a workspace, which its experiments reference and nobody can read back (decision 0298)."""
