"""Who may do what, as rows: groups, roles, grants, owners, what a decision reads of them, and the audit trail."""
