"""Build HTML and SVG as a tree, so that nothing a user named can become markup."""

from xml.etree.ElementTree import Element, tostring

Child = Element | str


def tag(name: str, /, *children: Child, **attributes: str | float) -> Element:
    r"""Make an element.

    Args:
        name: of the element.
        children: elements and text, in order.
        attributes: a trailing underscore is dropped (`class_`), others become hyphens; numbers
            are written with at most two decimals.

    Example:
        >>> page(tag("p", "a < b", tag("br"), class_="x"))
        '<!doctype html>\n<p class="x">a &lt; b<br></p>\n'
    """
    element = Element(
        name, {key.rstrip("_").replace("_", "-"): _text(value) for key, value in attributes.items()}
    )
    last: Element | None = None
    for child in children:
        if isinstance(child, Element):
            element.append(child)
            last = child
        elif last is None:
            element.text = (element.text or "") + child
        else:
            last.tail = (last.tail or "") + child
    return element


def page(root: Element) -> str:
    """Write a whole HTML document."""
    return f"<!doctype html>\n{tostring(root, encoding='unicode', method='html')}\n"


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".")
