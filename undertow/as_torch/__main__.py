"""`python -m undertow.as_torch`: see _run.py."""

from undertow.as_torch._run import main

if __name__ == "__main__":
    main()
