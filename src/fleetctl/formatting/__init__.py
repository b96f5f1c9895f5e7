"""Canonical formatting of fleet files: blanks, line ends and quotes are set anew, everything else stays as it is.

`format_fleet` formats the files of a fleet, `format_text` one text. No key, item or comment moves past another one, and
what would not say the same afterwards is not formatted at all.
"""

from fleetctl.formatting.files import FormattedFile, Status, format_fleet
from fleetctl.formatting.formatted import UnsafeError, format_bytes, format_text

__all__ = ["FormattedFile", "Status", "UnsafeError", "format_bytes", "format_fleet", "format_text"]
