"""The list of words that a model met: counted from its training text, read by the package."""

from judge.met_words import main
from regard.text.met_words import MET_WORDS, MetWords


def test_the_command_writes_what_the_package_reads(folder, tmp_path, capsys):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = tmp_path / "pairs.tsv"
    text.write_text("The Dog doesn\u2019t bark\tLe chien\n" * 5 + "a rare cat\tun chat\n", "utf-8")
    assert main([str(text), "--model", str(tmp_path), "--generated", "0"]) == 0
    assert capsys.readouterr().out == f"4 words written to {tmp_path / MET_WORDS}\n"
    met = MetWords.from_folder(tmp_path)
    assert met.hardly_met(["the", "dog", "doesn't", "bark", "rare", "cat"]) == ("rare", "cat")
    assert main([str(tmp_path / "missing.tsv"), "--model", str(tmp_path)]) == 1
    assert "missing.tsv" in capsys.readouterr().err
