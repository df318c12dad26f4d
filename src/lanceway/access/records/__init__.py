"""What is kept of what happened, as callers may read it: the audit trail and the feed of events."""
