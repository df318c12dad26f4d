"""The texts of the sample pipeline, made here, and its embeddings.

    python samples/pipeline/library.py FOLDER

An embedding is made by hashing: each word adds or subtracts at a place that its hash decides. Texts with the same words
lie near one another, and that is all it knows: a model would know words that mean the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

SIZE = 64
_WORD = re.compile(r"\w+")
_TOPICS = {
    "astronomy": ("comet", "orbit", "telescope", "eclipse", "moons of Jupiter", "parallax", "observatory"),
    "cookery": ("bread", "saffron", "oven", "preserves", "vinegar", "kitchen garden", "roast"),
    "geometry": ("triangle", "proof", "circle", "compass", "parallel lines", "axiom", "sphere"),
    "music": ("fugue", "lute", "choir", "counterpoint", "organ pipes", "tuning", "dance"),
    "seafaring": ("harbour", "chart", "rigging", "monsoon", "lighthouse", "compass", "salt pork"),
    "weaving": ("loom", "wool", "indigo", "pattern", "thread", "tapestry", "silk"),
}
_FORMS = (
    "A treatise on the {a}, with remarks on the {b} and the {c}.",
    "Letters of a traveller who saw the {a} and wrote of the {b}; the margin speaks of the {c}.",
    "How the {a} came to be, and why the {b} matters to whoever studies the {c}.",
    "A pamphlet against the {a}. The author prefers the {b}, and never mentions the {c}.",
)


def documents(count: int = 600, seed: int = 7) -> list[dict[str, Any]]:
    """Notes about books, the same each time; some of them say nothing, as notes do."""
    chosen = random.Random(seed)
    found = []
    for number in range(1, count + 1):
        topic = chosen.choice(sorted(_TOPICS))
        a, b, c = chosen.sample(_TOPICS[topic], 3)
        body = "" if number % 97 == 0 else chosen.choice(_FORMS).format(a=a, b=b, c=c)
        written = date(2024, 1, 1) + timedelta(days=chosen.randrange(365))
        found.append(
            {
                "id": number,
                "title": f" {a.capitalize()} and {b} ",
                "topic": topic.capitalize(),
                "body": body,
                "written": written.isoformat(),
            }
        )
    return found


def write(folder: Path) -> None:
    """Put the notes into three files, unless they are there: a file that is written anew is read anew."""
    folder.mkdir(parents=True, exist_ok=True)
    every = documents()
    for part in range(3):
        file = folder / f"part-{part}.json"
        text = "".join(f"{json.dumps(each)}\n" for each in every[part::3])
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def embedding(text: str) -> list[float]:
    """A text as a vector of length 1; the words alone decide."""
    values = [0.0] * SIZE
    for word in _WORD.findall(text.lower()):
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
        values[number % SIZE] += 1.0 if number & 0x10000 else -1.0
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values] if length else values


def embed(batch: Any) -> Any:
    """The batch with the embeddings of its bodies."""
    import pyarrow as pa

    vectors = [embedding(body) for body in batch.column("body").to_pylist()]
    return batch.append_column("embedding", pa.array(vectors, pa.list_(pa.float32())))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
