"""When a waiting request will probably start: `lengths` knows how long runs take, `free_units` what comes free when, `start` who goes first."""
