"""One page of HTML that holds all it needs: no script, nothing that is loaded, everything escaped."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from fleetctl.look import PLAIN, Look
from fleetctl.outline import on_page
from fleetctl.outline.shape import plain

if TYPE_CHECKING:
    from fleetctl.report.forms import Report


def render(report: Report, look: Look = PLAIN) -> str:
    """ASCII: what has more letters stands as a reference to its character."""
    from jinja2 import Environment, StrictUndefined  # not at the top: it takes a while, and few ask for a page

    words = on_page(report, verbose=look.verbose)
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    template = environment.from_string(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    page = template.render(outline=words, title=plain(words.heading))
    return f"{page}\n".encode("ascii", "xmlcharrefreplace").decode()
