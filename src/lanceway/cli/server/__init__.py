"""`lanceway up | tokens | check | doctor`"""
