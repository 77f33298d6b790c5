"""The searcher's tables: experiments, trials and their journals."""
