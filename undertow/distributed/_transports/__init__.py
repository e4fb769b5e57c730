"""What moves tensors between the processes of a group, behind one interface, and the queues that keep its order."""
