"""`lanceway tables …`"""
