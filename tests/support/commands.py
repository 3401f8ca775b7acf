"""Commands run in this process, and what they print."""

from click.testing import CliRunner

from tagwright.cli import main


def run(*arguments, given=None):
    return CliRunner().invoke(main, list(map(str, arguments)), input=given)


def printed(*arguments, given=None):
    """What a command prints, once it is clear that it went well."""
    result = run(*arguments, given=given)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def columns(X, y, separator="\t"):
    sentences = zip(X, y, strict=True)
    return "".join(
        "".join(f"{word}{separator}{label}\n" for word, label in zip(*sentence, strict=True)) + "\n"
        for sentence in sentences
    )


def complaint(*arguments, given=None):
    """The one line that a command complains with."""
    result = run(*arguments, given=given)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    return result.stderr.removeprefix("Error: ").rstrip("\n")
