"""`python -m simulator.planning.simulation_worker`: reads one question from standard input and writes lines of an answer
to standard output.

A separate process isolates the question's memory and time from the service, which kills it when it takes too
long. The kernel enforces the limits set here.
"""

import resource
import sys

from muster.errors import MusterError, Rejected
from simulator.planning.experiment_simulation import basics_of, futures, understand
from simulator.planning.worker_protocol import AnswerLine, Question, Refused


def main() -> None:
    """Write the basics, then each future as soon as it is simulated, or the reason for a refusal."""
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
            f"simulating this search takes more than {memory_mib} MiB",
            hint="plan for fewer trials, or for the pool as if nothing else ran",
        )
        _write(AnswerLine(refused=Refused(problem=too_large.to_problem())))


def _write(line: AnswerLine) -> None:
    sys.stdout.write(line.model_dump_json(exclude_none=True) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
