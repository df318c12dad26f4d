"""Credentials that are made for one table and end by themselves, so that clients work on its storage directly.

options     storage options: which of a server's own may leave it, and those that were made for a client
vendor      what makes credentials, of whatever cloud; the scope and the access that they are made for
policy      a session policy of IAM: what the holder may do, and where
sts         credentials by AssumeRole, on S3 and what speaks its protocol
vending     who gets which, and for how long one is kept and given again
checks      whether a storage holds credentials to what they are made for
"""
