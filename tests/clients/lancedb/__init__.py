"""Every public method of LanceDB's stock client, asked of a server: it works, or is refused with a sentence."""
