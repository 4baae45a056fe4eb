"""``vms from ec2("region.csv") { ... }``: the blocks of a catalogue, and what is said of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.api import fmt
from mrdsl.core.units import HOUR
from mrdsl.exchange.catalogues import rate_of_share
from mrdsl.families.capacity.facts import VmType
from mrdsl.language.loading import load_text
from mrdsl.language.resolving import Loaded
from tests.language.test_required_rows import DATA, SPEC

LEFT = "spot { interruptions = 0.001/h }"


def loaded(vms: str, folder: Path = DATA) -> Loaded:
    return load_text(SPEC.replace("REST", vms), folder=folder)


def types(vms: str, folder: Path = DATA) -> dict[str, VmType]:
    found = loaded(vms, folder)
    assert found.spec is not None, found.diagnostics
    return {vm.name: vm for vm in found.spec.facts.vms}


def test_a_region_says_what_blocks_say() -> None:
    rate = rate_of_share(0.05) * HOUR
    written = mrdsl.loads(
        SPEC.replace(
            "REST",
            f"""vm "alpha.xlarge" {{ cores = 4, memory = 16 GiB, fee = 0.05 USD/h, on_demand {{ price = 0.2 USD/h }}
                                  spot {{ price = 0.08 USD/h, interruptions = {rate!r}/h }} }}
                vm "beta.xlarge" {{ cores = 4, memory = 32 GiB, fee = 0.05 USD/h, on_demand {{ price = 0.25 USD/h }}
                                 spot {{ price = 0.0625 USD/h, interruptions = 0.001/h }} }}
                vm "gamma.metal" {{ cores = 96, memory = 768 GiB, fee = 0.05 USD/h, on_demand {{ price = 12.5 USD/h }}
                }}
            """,
        )
    )
    braces = f'{LEFT}, fee = 0.05 USD/h, require {{ name = ["*.xlarge", "gamma.metal"] }}'
    found = types(f'vms from ec2("region.csv") {{ {braces} }}')
    for vm in written.facts.vms:
        there = found.pop(vm.name)
        assert there.on_demand.price == pytest.approx(vm.on_demand.price, rel=1e-15)
        assert (there.cores, there.memory, there.fee) == (vm.cores, vm.memory, vm.fee)
        assert (there.spot is None) == (vm.spot is None)
        if vm.spot is not None and there.spot is not None:
            assert there.spot.price == pytest.approx(vm.spot.price, rel=1e-12)
            assert there.spot.interruptions == pytest.approx(vm.spot.interruptions, rel=1e-12)
    assert not found


def test_a_rate_in_the_braces_is_that_of_open_bands_alone() -> None:
    found = types(f'vms from ec2("region.csv") {{ {LEFT} }}')
    rates = {name: None if vm.spot is None else vm.spot.interruptions * HOUR for name, vm in found.items()}
    assert rates["beta.xlarge"] == pytest.approx(0.001)
    assert rates["alpha.xlarge"] == pytest.approx(rate_of_share(0.05) * HOUR)
    assert rates["gamma.metal"] is None


def test_no_spot_where_none_is_wanted() -> None:
    assert {vm.spot for vm in types('vms from ec2("region.csv") { spot = no }').values()} == {None}


@pytest.mark.parametrize(
    ("require", "names"),
    [
        ("emr = yes, cores >= 8", ["alpha.2xlarge"]),
        ("arch = arm64", ["beta.xlarge", "beta.4xlarge"]),
        ("gpus >= 1", ["gamma.metal"]),
        ("gpus = 0, nvme >= 200 GiB, network >= 1.25 Gbit/s", ["beta.xlarge", "beta.4xlarge"]),
        ("interruptions <= 0.0002/h", ["alpha.xlarge", "alpha.2xlarge"]),
        ("spot { price <= 0.1 USD/h }", ["alpha.xlarge", "beta.xlarge"]),
        ("price <= 0.25 USD/h, manufacturer = intel", ["alpha.xlarge"]),
    ],
)
def test_what_a_region_knows_may_be_required(require: str, names: list[str]) -> None:
    assert list(types(f'vms from ec2("region.csv") {{ {LEFT}, require {{ {require} }} }}')) == names


def test_a_page_has_the_prices_of_a_table_and_of_a_history(tmp_path: Path) -> None:
    """Prices by name; of spot the mean in time; a type that neither knows is left out where a price is required."""
    for name in ("page.json", "types-and-prices.csv"):
        (tmp_path / name).write_text((DATA / name).read_text())
    records = [
        ("2024-01-01T00:00:00Z", "0.05", "alpha.xlarge"),
        ("2024-01-01T01:00:00Z", "0.07", "alpha.xlarge"),
        ("2024-01-01T02:00:00Z", "0.01", "other.xlarge"),
    ]
    entries = ",".join(
        f'{{"Timestamp": "{time}", "SpotPrice": "{price}", "InstanceType": "{name}", "AvailabilityZone": "a",'
        ' "ProductDescription": "Linux/UNIX"}'
        for time, price, name in records
    )
    (tmp_path / "history.json").write_text(f'{{"SpotPriceHistory": [{entries}]}}')
    braces = 'prices = "types-and-prices.csv", spot_prices = "history.json", require { price >= 0 USD/h }'
    found = types(f'vms from instance_types("page.json") {{ {braces}, spot {{ interruptions = 0.0003/h }} }}', tmp_path)
    assert list(found) == ["alpha.xlarge", "alpha.2xlarge"]
    small, large = found.values()
    assert small.on_demand.price * HOUR == pytest.approx(0.19)
    assert (small.fee * HOUR, large.fee * HOUR) == pytest.approx((0.05, 0.1))
    assert small.spot is not None
    assert small.spot.price * HOUR == pytest.approx(0.06)
    assert small.spot.interruptions * HOUR == pytest.approx(0.0003)
    assert large.spot is None


@pytest.mark.parametrize(
    ("vms", "code", "said"),
    [
        ('vms from ec2("region.csv")', "unknown-interruptions", "1 type is sold on spot"),
        ('vms from instance_types("page.json") { spot = no }', "no-price", "`alpha.xlarge` has no price on demand"),
        (
            'vms from instance_types("page-broken.json")',
            "broken-catalogue",
            "alpha.2xlarge has no MemoryInfo.SizeInMiB",
        ),
        ('vms from ec2("types.csv")', "unreadable-table", "it has no column `instance_type`"),
        ('vms from ec2("page.json")', "unreadable-table", "it has no column `instance_type`"),
        ('vms from instance_types("region.csv")', "unreadable-table", "it is not JSON"),
        ('vms from ec2("nowhere.csv")', "missing-file", "there is no file `nowhere.csv`"),
        ('vms from ec2("../../../pyproject.toml")', "file-outside", "is outside the spec's folder"),
        ("vms from ec2(4)", "wrong-arguments", "`ec2` takes one file name"),
        ('vms from ec2("region.csv", "region.csv")', "wrong-arguments", "`ec2` takes one file name"),
        ('vms from azure("region.csv")', "unknown-reader", "readers: `ec2`, `instance_types`"),
        ('vm m5 from ec2("region.csv")', "unexpected-name", 'write `vms from ec2("file")`'),
        (f'vms from ec2("region.csv") {{ {LEFT}, fee = 1 EUR/h }}', "mixed-currencies", "the spec counts in"),
        (f'vms from ec2("region.csv") {{ {LEFT}, require {{ cores >= 100 }} }}', "nothing-left", "gamma.metal"),
        (f'vms from ec2("region.csv") {{ {LEFT}, require {{ gpu >= 1 }} }}', "unknown-column", "did you mean `gpus`?"),
        ('vms from ec2("region.csv") { spot = maybe }', "unknown-choice", "`spot` cannot be `maybe`"),
        (f'vms from ec2("region.csv") {{ {LEFT}, price = 3 }}', "unknown-item", "unknown item `price`"),
        (f'vms from ec2("region.csv") {{ {LEFT}, prices = "ragged.csv" }}', "unknown-column", "unknown attribute"),
        (f'vms from ec2("region.csv") {{ {LEFT}, spot_prices = "page.json" }}', "broken-history", "SpotPriceHistory"),
    ],
)
def test_what_is_wrong_with_a_catalogue_is_told(vms: str, code: str, said: str) -> None:
    found = loaded(vms).diagnostics
    assert code in [each.code for each in found], found
    told = next(each for each in found if each.code == code)
    assert said in f"{told.message} {told.hint}"
    assert told.span is not None
    assert told.hint


def test_names_are_told_apart_across_catalogues_and_blocks() -> None:
    found = loaded(f'vms from ec2("region.csv") {{ {LEFT} }}\nvms from ec2("region.csv") {{ {LEFT} }}').diagnostics
    assert [each.code for each in found] == ["duplicate"]
    refined = 'vm "gamma.metal" { on_demand { price = 1 USD/h } }\n'
    found = loaded(f'vms from ec2("region.csv") {{ {LEFT} }}\n{refined}{refined}').diagnostics
    assert [each.code for each in found] == ["duplicate"]


def test_another_currency_than_the_catalogue_s() -> None:
    found = load_text(
        SPEC.replace("REST", f'vms from ec2("region.csv") {{ {LEFT} }}').replace("1 USD", "1 EUR"), folder=DATA
    ).diagnostics
    assert [each.code for each in found] == ["mixed-currencies"]


def test_a_class_that_no_type_of_the_catalogue_holds_is_told_by_its_resource() -> None:
    text = SPEC.replace("slots { map = 2, reduce = 1 }", "container { map { cores = 2, memory = 1 TiB } }")
    found = load_text(text.replace("REST", f'vms from ec2("region.csv") {{ {LEFT} }}'), folder=DATA).diagnostics
    told = [each for each in found if each.code == "no-vm-type"]
    assert len(told) == 1
    assert "it takes 1 TiB of memory, and the most that one has is 768 GiB of memory (gamma.metal)" in told[0].message


def test_the_canonical_form_and_the_printed_spec_say_the_same() -> None:
    text = SPEC.replace(
        "REST", f'vms   from ec2( "region.csv" ) {{ {LEFT}, require{{ cores>=4,emr=yes, spot{{price<=1 USD/h}} }} }}'
    )
    formatted = fmt(text)
    assert (
        'vms from ec2("region.csv") { spot { interruptions = 0.001/h }, require { cores >= 4, emr = yes, spot'
        in formatted
    )
    assert fmt(formatted) == formatted
    spec = load_text(text, folder=DATA).spec
    assert spec is not None
    assert load_text(formatted, folder=DATA).spec == spec
    assert mrdsl.loads(mrdsl.dumps(spec)) == spec
    assert [Path(each.path).name for each in spec.files] == ["region.csv"]


@pytest.mark.parametrize("hidden", ["\\n", "\\t", "\\u202e", "\\u001b[2J"])
def test_a_name_with_a_control_character_is_refused(hidden: str, tmp_path: Path) -> None:
    text = (DATA / "page.json").read_text(encoding="utf-8").replace("alpha.2xlarge", f"alpha{hidden}2xlarge")
    (tmp_path / "page.json").write_text(text, encoding="utf-8")
    found = loaded('vms from instance_types("page.json") { on_demand { price = 1 USD/h } }', tmp_path).diagnostics
    (told,) = [each for each in found if each.code == "control-character"]
    assert told.span is not None
    assert told.span.file.endswith("page.json")
    assert "2xlarge` of this type" in told.message


def test_a_wrong_catalogue_hides_no_row_from_blocks_that_change_it(tmp_path: Path) -> None:
    """The one mistake is in the file; `vm "m5.xlarge"` changes a row that was not read."""
    head = "instance_type,vcpu,memory_mib,on_demand_usd_h,spot_saving_percent,interruption_per_month\n"
    (tmp_path / "region.csv").write_text(f"{head}m5.xlarge,4,16384,0.192,60,>20%\n", encoding="utf-8")
    text = (
        'problem capacity\nvms from ec2("region.csv") { }\nvm "m5.xlarge" { available = 8 }\n'
        'master { vm = "m5.xlarge" }\nclass c { map { tasks = 4, avg = 40 s, max = 70 s }\n'
        "container { cores = 1, memory = 2 GiB }, jobs = 2, deadline = 1 h, penalty = 9 USD }\nminimize cost\n"
    )
    (tmp_path / "a.mrspec").write_text(text, encoding="utf-8")
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.load(tmp_path / "a.mrspec")
    assert [each.code for each in refused.value.diagnostics] == ["unknown-interruptions"]
