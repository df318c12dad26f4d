"""Why a verb was refused or failed, in the words of the command line: verbs, options, and names as they were typed.

The messages of catalogs speak of the contract's operations and fields, and a server's of names below one of its
catalogs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lanceway.identifiers import with_whole_names

# Where a message begins with the operation that was asked for, the verb that was typed says the same.
_OPERATION = re.compile(r"^[a-z]+(?:_[a-z]+)+(?:(?: on \S+)? failed)?: ")
# Words by which programs recognize an error, in front of a sentence that says it.
_BEGINNING = re.compile(r"^(?:Table not found|The namespace was not found|Namespace not empty): (?=\S)")
# By which a server's log has the request; no one reads it as a part of the sentence.
_REQUEST = re.compile(r" \(request [^()]+\)$")
_UNSUPPORTED = re.compile(r"^\w+ \(type '(\w+)'\) does not support (\w+?)( with behavior cascade)?\.")
_WORDS: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\bwith create_table_index\b", "with lanceway tables indices create"),
        (r"\bwith update_table_tag\.", "with lanceway tables tags update."),
        (r"\bwith create_table\.", "with lanceway tables create."),
        (r"\blist_table_tags names those it has\.", "lanceway tables tags list shows those it has."),
        (r"\bwith create_materialized_view\b", "with lanceway views create"),
        (r"\bwith alter_table_add_columns\b", "with lanceway tables columns add"),
        (r"\bwork here and now with lanceway\.jobs\.", "work here, with lanceway tables compact and the like."),
        (
            r"has tls_(\w+) but no tls_(\w+): HTTPS needs both\. Set .*",
            r"has --tls-\1 but no --tls-\2: HTTPS needs both.",
        ),
        (r"^The mode of \w+ is\b", "The value of --mode is"),
        (r"\b[Uu]se mode exist_ok to keep it or overwrite to replace it", "Use --mode exist_ok or --mode overwrite"),
        (r"or drop it with (?:all that is inside|behavior cascade)\.", "or add --cascade to drop all that is inside."),
        (r"\bname the vector_column of (\S+) to search\.", r"name the column of \1 to search with --vector-column."),
        (r"Create the table again with vectors=\['(.*)'\]\.", r"Create the table again with --vector-column \1."),
        (
            r"Connect with layout=\"manifest\" to have \w+ there\.",
            "A plain folder has nothing but tables. Add --set layout=manifest to use a new folder, or use a lake.",
        ),
        (
            r"Set at least one of when_matched_update_all, when_not_matched_insert_all, \w+\.",
            "Leave out --no-update or --no-insert, or add --delete-missing.",
        ),
        (r"\bin the metalake '[^']*'\. Create it first\.", "on this server. lanceway namespaces list shows them."),
        (r"Identifiers begin with a catalog: .* over HTTP\.", "lanceway namespaces list shows the catalogs."),
        (
            r'Connect to a new folder with layout="manifest" to have namespaces, or use a lake\.',
            "Add --set layout=manifest to use a new folder, or use a lake.",
        ),
    )
]


def spoken(message: str, asked: Sequence[str] = ()) -> str:
    """Return a message in one line and in words of the command line. `asked` has the names of what it is about."""
    text = " ".join(message.split())
    text = _BEGINNING.sub("", _OPERATION.sub("", text))
    text = _UNSUPPORTED.sub(_unsupported, text)
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return with_whole_names(text, asked)


def parted(reason: str) -> tuple[str, str]:
    """Return a reason without the server's request at its end, and that, in brackets; empty if there is none."""
    found = _REQUEST.search(reason)
    return (reason[: found.start()], found[0]) if found else (reason, "")


def _unsupported(found: re.Match[str]) -> str:
    verb = found[2].replace("_", " ")
    return f"A catalog of type {found[1]!r} does not support: {verb}{' with --cascade' if found[3] else ''}."
