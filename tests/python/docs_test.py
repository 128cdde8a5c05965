"""The blocks of Python on the pages for users run, and print what the page says."""

import re
from pathlib import Path

import pytest
import trifold

ROOT = Path(__file__).parents[2]
SEVERAL_PROCESSES = ("batches.md", "ranks.md", "ranks-gpu.md")
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs/users").glob("*.md"))) if page.name not in SEVERAL_PROCESSES]
BLOCK = re.compile(r"(?:\(needs (\w+)\)\n)?```python\n(.*?)```(?:\n\nIt prints:\n```text\n(.*?)```)?", re.DOTALL)
BLOCKS = [(page.name, *block) for page in PAGES for block in BLOCK.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "library", "code", "printed"), BLOCKS)
def test_block(page, library, code, printed, capsys):
    if library:
        pytest.importorskip(library.lower())
    if library == "JAX" and not trifold.info()["jax"]:
        pytest.skip("built without the headers of XLA's FFI")
    exec(compile(code, page, "exec"), {})
    assert capsys.readouterr().out == printed
