"""`python -m lanceway` is the command `lanceway`."""

from lanceway.cli import main

if __name__ == "__main__":
    main()
