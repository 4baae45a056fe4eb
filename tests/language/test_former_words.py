"""Words of earlier releases: read with a warning, replaced by `fmt --upgrade`, and migrated in saved plans."""

from __future__ import annotations

from pathlib import Path

from mrdsl.language.loading import load_text, upgraded
from tests.command_lines import run_here

BEFORE = (Path(__file__).parent / "bad" / "former_words.mrspec").read_text(encoding="utf-8")
AFTER = """problem capacity "words of an earlier release"
vm m5 { on_demand { price = 0.192 USD/h }, reserved { price = 0.11 USD/h, available = 2, prepaid = yes } }
class a {
  map { tasks = 4, avg = 9 s, max = 21 s }
  slots { map = 2, reduce = 1 }
  jobs = 1..2, deadline = 8 min, penalty = 1 USD
}
simulation {
  work_conserving = yes
  machine_failures { rate = 0.01/h, repair_time = 2 min, permanent = 1 }
  task_failures { probability = 1%, retries = 2 }
}
minimize cost
subject to { on_time(a) >= 90%, on_time(a) >= 80% }
"""


def test_former_words_mean_those_of_today() -> None:
    before, after = load_text(BEFORE), load_text(AFTER)
    assert before.spec is not None
    assert after.spec is not None
    assert before.spec.facts == after.spec.facts
    assert [c.left for c in before.spec.constraints] == [c.left for c in after.spec.constraints]
    warned = [d for d in before.diagnostics if d.code == "former-word"]
    assert len(warned) == len({each.was for each in before.renamed}) == 8
    assert not [d for d in after.diagnostics if d.code == "former-word"]


def test_upgrade_replaces_every_former_word(tmp_path: Path) -> None:
    assert upgraded(BEFORE, "a.mrspec", tmp_path) == AFTER
    assert upgraded(AFTER, "a.mrspec", tmp_path) == AFTER
    path = tmp_path / "a.mrspec"
    path.write_text(BEFORE, encoding="utf-8")
    assert run_here(("fmt", "--upgrade", "a.mrspec"), tmp_path).exit_code == 0
    assert not load_text(path.read_text(encoding="utf-8")).renamed


def test_former_words_in_columns_of_a_table(tmp_path: Path) -> None:
    table = "name,on_demand.price [USD/h],reserved.price [USD/h],reserved.available,reserved.{}\nm5,0.192,0.11,2,yes\n"
    facts = []
    for word in ("paid", "prepaid"):
        (tmp_path / f"{word}.csv").write_text(table.format(word), encoding="utf-8")
        text = AFTER.replace(AFTER.splitlines()[1], f'vms from "{word}.csv"')
        found = load_text(text, folder=tmp_path)
        assert [each.word for each in found.renamed] == (["prepaid"] if word == "paid" else [])
        assert found.spec is not None
        facts.append([(vm.name, vm.reserved.prepaid) for vm in found.spec.facts.vms])
    assert facts[0] == facts[1] == [("m5", "yes")]
