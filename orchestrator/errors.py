"""The root of the project's errors; a room derives its own from here, beside what raises them."""


class EmufarmError(Exception):
    """Something emufarm cannot go on from, in one sentence for the person at the terminal."""


class UsageError(EmufarmError):
    """A request that cannot work, found before anything is provisioned.

    The text says what to change. The command line ends with exit code 2.
    """
