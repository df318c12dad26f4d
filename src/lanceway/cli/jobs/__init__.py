"""`lanceway jobs …`"""
