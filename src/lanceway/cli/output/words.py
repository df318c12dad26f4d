"""Numbers and nouns in sentences for people: one row, two rows; a BTREE index, an IVF_PQ index."""

from __future__ import annotations

# Spelt out letter by letter, some consonants begin with a vowel: an FTS index, an LZ4 file.
_VOWELS, _LETTERS = "AEIO", "AEFHILMNORSX"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one: `1 row`, `1,000 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def with_article(word: str) -> str:
    """Return a word after `a` or `an`, as it is spoken: `an IVF_PQ index`, `a BTREE index`, `an FTS index`."""
    spelt = word.isupper() and not set(word) & set("AEIOUY")
    begins = word[:1].upper() in (_LETTERS if spelt else _VOWELS)
    return f"{'an' if begins else 'a'} {word}"
