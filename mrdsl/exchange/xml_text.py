"""XML that another program wrote: elements, without entities of its own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from mrdsl.exchange.mistakes import FormatError


def parsed(text: str) -> ET.Element:
    """The root of a text. Raises FormatError where it is no XML, or declares entities, which may stand for any size."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FormatError("it declares entities", "leave the document type out")
    try:
        return ET.fromstring(text)
    except ET.ParseError as problem:
        raise FormatError(f"it is no XML: {problem}") from None


def written(root: ET.Element, comments: tuple[str, ...] = ()) -> str:
    """The root as a file, below comments of one line each."""
    ET.indent(root)
    told = "".join(f"<!-- {re.sub('-(?=-)', '- ', comment)} -->\n" for comment in comments)
    return '<?xml version="1.0"?>\n' + told + ET.tostring(root, encoding="unicode") + "\n"


def settings(properties: dict[str, str], comments: tuple[str, ...] = ()) -> str:
    """A file of Hadoop's: names and values in a `<configuration>`."""
    configuration = ET.Element("configuration")
    for name, value in properties.items():
        one = ET.SubElement(configuration, "property")
        ET.SubElement(one, "name").text = name
        ET.SubElement(one, "value").text = value
    return written(configuration, comments)


def settings_of(text: str) -> dict[str, str]:
    """Names and values of a file of Hadoop's. Raises FormatError where the text is none."""
    configuration = parsed(text)
    if configuration.tag != "configuration":
        raise FormatError(f"it is a <{configuration.tag}>, not a <configuration>")
    values = {}
    for one in configuration.iter("property"):
        name, value = one.findtext("name"), one.findtext("value")
        if name is None or value is None:
            raise FormatError("a <property> lacks its <name> or <value>")
        values[name.strip()] = value.strip()
    return values
