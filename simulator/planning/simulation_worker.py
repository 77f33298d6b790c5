"""`python -m simulator.planning.player`: one question on standard input, lines of an answer on standard output. It holds a question's memory
and time apart from those of the service, which ends it when it takes too long; the limits here are what the kernel sees to."""

import resource
import sys

from muster.errors import MusterError, Rejected
from simulator.planning.experiment_simulation import basics_of, futures, understand
from simulator.planning.question import AnswerLine, Question, Refused


def main() -> None:
    """Writes basics, then each future as soon as it is played, or why there is none."""
    memory_mib, seconds = (int(given) for given in sys.argv[1:3])
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        play = understand(Question.model_validate_json(sys.stdin.buffer.read()))
        _write(AnswerLine(basics=basics_of(play)))
        for future in futures(play):
            _write(AnswerLine(future=future))
    except MusterError as error:
        _write(AnswerLine(refused=Refused(problem=error.to_problem())))
    except MemoryError:
        too_large = Rejected(
            "plan_too_large",
            f"playing this search takes more than {memory_mib} MiB",
            hint="plan for fewer trials, or as if nothing else ran in the pool",
        )
        _write(AnswerLine(refused=Refused(problem=too_large.to_problem())))


def _write(line: AnswerLine) -> None:
    sys.stdout.write(line.model_dump_json(exclude_none=True) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
