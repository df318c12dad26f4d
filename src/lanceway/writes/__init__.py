"""The distributed write protocol over any catalog: workers write files, one process commits them."""
