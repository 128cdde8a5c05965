"""The blocks of Python on docs/users/python.md run, and print what the page says."""

import re
from pathlib import Path

import pytest
import trifold

PAGE = (Path(__file__).parents[2] / "docs/users/python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\nIt prints:\n```text\n(.*?)```)?", PAGE, re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), BLOCKS)
def test_block(code, printed, capsys):
    if "import jax" in code:
        pytest.importorskip("jax")
        if not trifold.info()["jax"]:
            pytest.skip("built without the headers of XLA's FFI")
    exec(compile(code, "docs/users/python.md", "exec"), {})
    assert capsys.readouterr().out == printed
