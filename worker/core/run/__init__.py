"""The state machine of a run on this machine: states, reducers for events, and the plan of actions."""
