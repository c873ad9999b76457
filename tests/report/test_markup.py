"""Building HTML as a tree."""

from evener.report.markup import page, tag


def test_text_stands_where_it_was_given_between_elements() -> None:
    paragraph = tag("p", "one ", tag("b", "two"), " three", " four ", tag("br"), "five")

    assert page(paragraph) == ("<!doctype html>\n<p>one <b>two</b> three four <br>five</p>\n")


def test_neither_text_nor_attributes_can_become_markup() -> None:
    hostile = '"><script>alert(1)</script>'

    written = page(tag("p", hostile, title=hostile))

    assert "<script>" not in written
    assert "&lt;script&gt;" in written


def test_numbers_have_at_most_two_decimals() -> None:
    assert 'x="1.33" y="2"' in page(tag("rect", x=4 / 3, y=2.0))
