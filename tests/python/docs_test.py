"""The blocks of Python on the pages for users run, and print what the page says."""

import re
from pathlib import Path

import pytest
import trifold

PAGES = Path(__file__).parents[2] / "docs/users"
BLOCK = re.compile(r"(?:\(needs (\w+)\)\n)?```python\n(.*?)```(?:\n\nIt prints:\n```text\n(.*?)```)?", re.DOTALL)
BLOCKS = [
    (page, *block)
    for page in ("python.md", "models.md", "grid.md", "sparse.md")
    for block in BLOCK.findall((PAGES / page).read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "library", "code", "printed"), BLOCKS)
def test_block(page, library, code, printed, capsys):
    if library:
        pytest.importorskip(library.lower())
    if library == "JAX" and not trifold.info()["jax"]:
        pytest.skip("built without the headers of XLA's FFI")
    exec(compile(code, f"docs/users/{page}", "exec"), {})
    assert capsys.readouterr().out == printed
