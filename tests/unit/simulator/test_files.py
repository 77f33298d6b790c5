"""A user's files: what they mean, and that what is wrong is named with its place and reason."""

from pathlib import Path

import pytest

from muster.errors import Rejected
from simulator.files.reading import read_cluster, read_policy, read_workload
from simulator.files.workload import items_of, submissions_of
from simulator.run_workload import machines_of


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_group_of_machines_is_counted_out(tmp_path: Path) -> None:
    path = written(
        tmp_path, "c.yaml", "machines: [{count: 2, slots: 4, name: node}, {slots: 8, name: large}]"
    )
    assert [(m.name, m.slots) for m in machines_of(read_cluster(path))] == [
        ("node-1", 4),
        ("node-2", 4),
        ("large-1", 8),
    ]


def test_csv_and_yaml_say_the_same(tmp_path: Path) -> None:
    csv = "name,arrives_s,slots,length_s,tenant,priority\na,0,2,60,x,\nb,1.5,1,30,y,5\n"
    yaml = """
trials:
  - {name: a, slots: 2, length_s: 60, tenant: x}
  - {name: b, arrives_s: 1.5, length_s: 30, tenant: y, priority: 5}
"""
    assert read_workload(written(tmp_path, "w.csv", csv)) == read_workload(written(tmp_path, "w.yaml", yaml))


def test_machines_in_a_row_share_a_rack_and_trials_ask_for_labels(tmp_path: Path) -> None:
    text = "machines: [{name: n, count: 3, slots: 4, labels: {gpu: h100}, domains: {rack: 2}}]\n"
    machines = machines_of(read_cluster(written(tmp_path, "c.yaml", text)))
    assert [dict(one.labels)["rack"] for one in machines] == ["n-1", "n-1", "n-2"]
    assert {dict(one.labels)["gpu"] for one in machines} == {"h100"}
    table = 'length_s,required_labels\n5,"rack=n-2,gpu=h100"\n'
    (item,) = items_of(read_workload(written(tmp_path, "w.csv", table)))
    assert item.where is not None and item.where.admits(machines[2].name, machines[2].labels)
    assert not item.where.admits(machines[0].name, machines[0].labels)


def test_a_count_of_trials_arrives_one_after_the_other(tmp_path: Path) -> None:
    path = written(tmp_path, "w.yaml", "trials: [{name: s, count: 3, every_s: 10, length_s: 1}]")
    assert [(i.name, i.arrives_ms) for i in items_of(read_workload(path))] == [
        ("s-1", 0),
        ("s-2", 10_000),
        ("s-3", 20_000),
    ]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("w.csv", "name,lenght_s\na,1\n", "line 1"),
        ("w.csv", "name,length_s\na,1\nb,soon\n", "line 3, length_s"),
        ("w.csv", "name,length_s\na\n", "line 2"),
        ("w.csv", "name,length_s\n", "line 2"),
        ("w.csv", "name,slots,min_slots,length_s\na,2,4,9\n", "line 2"),
        ("w.yaml", "trials:\n  - {length_s: 3, slots: 0}\n", "trials[0].slots, line 2, column 19"),
        ("w.yaml", "trials: []\n", "line 1"),
        ("w.yaml", "experiments: [{config: e.yaml, stpes: 3}]\n", "experiments[0].stpes, line 1"),
        ("w.yaml", "trials: [{length_s: .inf}]", "line 1, column 21"),
    ],
)
def test_what_is_wrong_in_a_workload_is_named_with_its_place(
    tmp_path: Path, name: str, text: str, place: str
) -> None:
    with pytest.raises(Rejected) as refused:
        read_workload(written(tmp_path, name, text))
    assert place in (refused.value.place or "") and name in (refused.value.place or "")


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="nowhere"):
        read_workload(tmp_path / "nowhere.csv")
    with pytest.raises(Rejected, match="'fairness'"):
        read_policy("fairness")


def test_keys_that_do_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected) as refused:
        read_policy(str(written(tmp_path, "p.yaml", "order: fifo\npreemptoin: true\n")))
    assert "preemptoin, line 2" in (refused.value.place or "")


CONFIG = """
entrypoint: python3 train.py
hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}}
searcher: {name: random, metric: loss, max_trials: 4}
"""


def test_an_experiment_names_its_config_or_holds_it(tmp_path: Path) -> None:
    written(tmp_path, "e.yaml", CONFIG)
    inline = CONFIG.strip().replace("\n", ", ")
    path = written(
        tmp_path,
        "w.yaml",
        f"experiments:\n  - {{config: e.yaml, steps: 9, count: 2}}\n  - {{config: {{{inline}}}, steps: 9}}\n",
    )
    named, again, held = submissions_of(read_workload(path), path)
    assert named.config == held.config and named.learning == held.learning
    assert (named.name, again.name, again.seed) == ("experiment-1", "experiment-2", 1)


@pytest.mark.parametrize(
    ("config", "place", "words"),
    [
        (CONFIG, "w.yaml, experiments[0]", "number of training steps"),
        (CONFIG.replace("metric", "metrik"), "e.yaml, searcher.metrik, line 4", "metrik"),
    ],
)
def test_what_is_wrong_with_an_experiment_is_named_with_its_place(
    tmp_path: Path, config: str, place: str, words: str
) -> None:
    written(tmp_path, "e.yaml", config)
    path = written(tmp_path, "w.yaml", "experiments: [{config: e.yaml}]\n")
    with pytest.raises(Rejected, match=words) as refused:
        submissions_of(read_workload(path), path)
    assert place in (refused.value.place or "")


def test_a_cluster_without_any_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="neither machines nor a provider"):
        read_cluster(written(tmp_path, "c.yaml", "exclusive: true\n"))


def test_faults_of_a_file_are_said_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="this must be a list"):
        read_cluster(written(tmp_path, "c.yaml", "machines: 3"))
    with pytest.raises(Rejected, match="this is missing"):
        read_workload(written(tmp_path, "w.csv", "arrives_s,slots\n0,1\n"))
