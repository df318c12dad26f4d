"""The dialect of LanceDB's remote client: a coat over Lance REST."""
