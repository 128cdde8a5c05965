"""The blocks of Python on docs/users/python.md run, and print what the page says."""

import re
from pathlib import Path

import pytest
import trifold

PAGE = (Path(__file__).parents[2] / "docs/users/python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:\(needs (\w+)\)\n)?```python\n(.*?)```(?:\n\nIt prints:\n```text\n(.*?)```)?", PAGE, re.DOTALL)


@pytest.mark.parametrize(("library", "code", "printed"), BLOCKS)
def test_block(library, code, printed, capsys):
    if library:
        pytest.importorskip(library.lower())
    if library == "JAX" and not trifold.info()["jax"]:
        pytest.skip("built without the headers of XLA's FFI")
    exec(compile(code, "docs/users/python.md", "exec"), {})
    assert capsys.readouterr().out == printed
