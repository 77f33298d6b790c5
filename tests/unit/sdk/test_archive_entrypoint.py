"""Which entrypoints surely cannot start from a folder of code, and which are left to the machine."""

import difflib
import re
from typing import Any

import pytest

from muster.archive import check_entrypoint
from muster.errors import Rejected

FILES = ("config.yaml", "model/__init__.py", "model/fit.py", "plain/a.py", "run.sh", "src/train.py", "zoo.py")


@pytest.mark.parametrize(
    ("entrypoint", "needed"),
    [
        ("python3 train.py", "train.py"),
        ("python3 -u -X dev -W ignore ./train.py --lr 3", "train.py"),
        ("/usr/bin/python3.11 -O src/fit.py", "src/fit.py"),
        (["python", "train.py"], "train.py"),
        ("train.py", "train.py"),
        ("./start.sh", "start.sh"),
        ("bin/start --now", "bin/start"),
        ("bash start.sh", "start.sh"),
        ("bash -eu scripts/start.sh x", "scripts/start.sh"),
        ("bash -c 'python3 train.py'", "train.py"),
        ("LR=1 SEED=2 exec python3 train.py", "train.py"),
        ("env LR=1 python3 train.py", "train.py"),
        ("python3 train.py > log.txt 2>&1", "train.py"),
        ("python3 train.py --lr $LR | tee log.txt", "train.py"),
        ("python3 train.py \\\n  --lr 3\n", "train.py"),
        ("python3 train.py && echo done", "train.py"),
        ("horovodrun -np 2 python3 train.py --data x.py", "train.py"),
        ("torchrun --standalone --nproc_per_node 2 train.py", "train.py"),
        ("torchrun --standalone train.py --data x.py", "train.py"),
        ("torchrun --rdzv_conf a=b.py train.py", "train.py"),
        ("mpirun --hostfile h.py python3 train.py", "train.py"),
        ("python3 -m torch.distributed.run --nnodes=1 train.py", "train.py"),
        ("accelerate launch --config_file c.yaml train.py", "train.py"),
        ("python3 -m model.eval", "model/eval.py"),
        ("python3 -m zoo.fit", "zoo/fit.py"),
        ("python3 model", "model"),
    ],
)
def test_what_the_code_lacks_is_refused_by_its_name(entrypoint: str | list[str], needed: str) -> None:
    with pytest.raises(Rejected) as refused:
        check_entrypoint(entrypoint, FILES)
    assert (refused.value.code, refused.value.place) == ("entrypoint_missing", "entrypoint")
    assert f"runs {needed}, but the code does not contain it; the code has 7 files: config.yaml, " in str(
        refused.value
    )


@pytest.mark.parametrize("entrypoint", ["python3 train.py", "./run.sh", "torchrun --standalone train.py"])
def test_without_code_there_is_no_script(entrypoint: str) -> None:
    with pytest.raises(Rejected, match=r"runs .*, but the experiment has no code"):
        check_entrypoint(entrypoint, ())


@pytest.mark.parametrize(
    "entrypoint",
    [
        *(
            "python3 src/train.py",
            "python3 ./src/../src/train.py",
            "python3 -m model.fit",
            "python3 -m zoo",
            "python3 src",
        ),
        *("bash run.sh", "./run.sh", "sh ./run.sh && echo done", "python3 -u zoo.py | tee x"),
        *("horovodrun -np 2 python3 zoo.py", "torchrun --standalone zoo.py", ["python3", "zoo.py", "--x"]),
        *("mpirun --hostfile h.py python3 zoo.py", "torchrun --rdzv_conf a=b.py zoo.py"),
        *("torchrun --log_dir logs.py zoo.py", "accelerate launch --config_file c.py python3 zoo.py"),
    ],
)
def test_what_the_code_holds_is_taken(entrypoint: str | list[str]) -> None:
    files = (*FILES, "src/__main__.py")
    check_entrypoint(entrypoint, files)


@pytest.mark.parametrize(
    "entrypoint",
    [
        *(
            "sleep 5",
            "true",
            "python3 -c 'print(1)'",
            "python3 -",
            "python3",
            "python3 --version",
            "tool --config x.yaml",
        ),
        *(
            "python3 /opt/train.py",
            "python3 ../train.py",
            "python3 -m installed.train",
            "python3 -m plain.b",
            "bash",
        ),
        *(
            "git clone there . && python3 train.py",
            "tar xf code.tar; python3 train.py",
            "cd src && python3 train.py",
        ),
        *(
            "python3 train.py || python3 other.py",
            "python3 prepare.py; true",
            "python3 train.py && a || b",
            "echo\npython3 a.py",
        ),
        *(
            "python3 $SCRIPT",
            "python3 ${HERE}/train.py",
            "$PYTHON train.py",
            "python3 *.py",
            "python3 `ls`",
            "python3 'unended",
        ),
        *(
            "bash -c 'cd x; python3 train.py'",
            "bash -lc 'python3 train.py'",
            "nice -n 5 python3 train.py",
            "bash launcher",
            "if true; then a; fi",
        ),
        *(
            "torchrun -m trainer conf.py",
            "horovodrun -np 2 python3 -m trainer conf.py",
            "deepspeed --no_python run conf.py",
            "torchrun --log_dir logs.py -m trainer",
            "mpirun --hostfile h.py trainer",
            "mpirun trainer conf.py",
        ),
        *(
            ["python3", "-I", "-m", "model.eval"],
            ["sh", "-c", "for x in *; do python3 a.py; done"],
            "(python3 train.py)",
        ),
    ],
)
def test_what_may_start_is_left_to_the_machine(entrypoint: str | list[str]) -> None:
    check_entrypoint(entrypoint, FILES)
    check_entrypoint(entrypoint, ())


def test_a_startup_hook_may_make_the_file() -> None:
    check_entrypoint("python3 train.py", ("startup-hook.sh",))


def test_the_hint_names_the_file_that_was_meant() -> None:
    with pytest.raises(Rejected) as refused:
        check_entrypoint("python3 train.py", FILES)
    assert (refused.value.hint or "").startswith("did you mean src/train.py? ")
    with pytest.raises(Rejected) as refused:
        check_entrypoint("python3 train.py", tuple(f"data/{number}" for number in range(1000)))
    assert "the code has 1000 files: data/0, " in str(refused.value) and "and 992 more" in str(refused.value)


def test_the_hint_compares_a_few_short_names_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, list[str]]] = []

    def close_matches(word: str, possibilities: Any, **options: Any) -> list[str]:
        compared.append((word, list(possibilities)))
        return []

    monkeypatch.setattr(difflib, "get_close_matches", close_matches)
    files = frozenset(f"{'a/' * 100}{'n' * 200}{number}.py" for number in range(5000))
    with pytest.raises(Rejected, match="the code has 5000 files"):
        check_entrypoint(f"python3 {'b/' * 100}{'n' * 200}.py", files)
    [(word, names)] = compared
    assert len(names) <= 50 and max(map(len, (word, *names))) <= 60


def test_the_hint_names_a_similar_file_in_another_folder() -> None:
    with pytest.raises(Rejected, match=re.escape("did you mean jobs/training.py? ")):
        check_entrypoint("python3 trainin.py", (*FILES, "jobs/training.py"))


@pytest.mark.parametrize(
    "entrypoint",
    [
        "env " * 100_000 + "python3 train.py",
        ["env", *["A=1"] * 100_000, "python3", "train.py"],
        "python3 -m torchrun " * 100_000 + "train.py",
        "python3 train.py " + "x" * 2_000,
    ],
)
def test_a_very_long_entrypoint_is_left_to_the_machine(entrypoint: str | list[str]) -> None:
    check_entrypoint(entrypoint, FILES)
