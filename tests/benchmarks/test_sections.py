"""What a benchmark found as Markdown and as a page."""

from sections import Section, Table, html, markdown


def test_a_bar_of_a_plan_does_not_break_a_table() -> None:
    section = Section("t", [], [Table(["plan", "rate"], [["a | b", "1 /s"]])])

    assert markdown([section]) == "# t\n\n| plan | rate |\n| --- | ---: |\n| a \\| b | 1 /s |\n"


def test_a_page_is_named_after_its_first_section() -> None:
    written = html([Section("Rates <here>", ["- a note"]), Section("More")])

    assert "<title>Rates &lt;here&gt;</title>" in written
    assert "<h1>Rates &lt;here&gt;</h1><p>a note</p><h2>More</h2>" in written


def test_a_list_ends_before_the_next_heading() -> None:
    written = markdown([Section("t", ["- one", "- two"]), Section("u", ["- three", "text"])])

    assert written == "# t\n\n- one\n- two\n\n## u\n\n- three\n\ntext\n"
