"""Plants faults in a copy of the simulator and counts those that `fanin certify` finds."""
