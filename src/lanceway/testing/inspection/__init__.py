"""Run the conformance suite on one connected catalog and report what it found."""
