"""`lanceway lake …`"""
