"""The processes of a job: how MPI starts in them, what each did last, how they end."""
