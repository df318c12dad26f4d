"""The contract: what a catalog must answer, and every operation that it inherits."""
