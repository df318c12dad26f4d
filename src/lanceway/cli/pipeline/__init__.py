"""`lanceway pipeline …`"""
