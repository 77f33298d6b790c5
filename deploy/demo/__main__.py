"""`python -m deploy.demo`: exits with 0 if every step succeeded, else with 1 after a message with the next step to take."""

import sys

from deploy.demo.platform import Platform
from deploy.demo.steps import Failed, run
from muster.cli.base.errors import print_sentence, sentence
from muster.errors import MusterError


def main() -> int:
    platform = Platform()
    try:
        platform.start()
        run(platform)
    except Failed as failure:
        print_sentence(f"demo: {failure}")
        return 1
    except MusterError as error:
        print_sentence(f"demo: {sentence(error)}. The logs are in {platform.home / 'logs'}")
        return 1
    except KeyboardInterrupt:
        print_sentence("demo: interrupted")
        return 130
    finally:
        platform.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
