"""Documents: elements in elements."""

from __future__ import annotations

from names import check_attribute_name


class Element:
    """A name, the element that it is in, and those that are in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent: Element | None = None
        self.children: list[Element] = []

    def add(self, child: Element) -> None:
        """Put it behind the others."""
        child.parent = self
        self.children.append(child)


def build(names: list[str]) -> Element:
    """A document with an element for each name, ten in each section."""
    document = section = Element("document")
    for number, name in enumerate(names):
        if number % 10 == 0:
            section = Element("section")
            document.add(section)
        if not check_attribute_name(name):
            raise ValueError(f"{name!r} is no name")
        section.add(Element(name))
    return document
