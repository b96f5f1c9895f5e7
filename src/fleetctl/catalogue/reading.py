"""Rules of reading: files and YAML."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

_ONE_READING = "Readers of YAML disagree about it, and a file must mean one thing to everybody."

READING: Final[Entries] = {
    "files.blank": Entry(
        "A file of the fleet, or a document in it, says nothing, and the plan takes something away.",
        "What was emptied by accident must not look like a wish that what it held goes.",
        "Remove it, or write a document there, such as `pools: []`.",
    ),
    "files.cut": Entry(
        "A file ends inside a line, and the plan takes something away.",
        "Whatever wrote the file may have been stopped: what is missing may not have been meant to go.",
        "Write the file whole; one that is ends with a line end.",
    ),
    "files.empty": Entry(
        "No fleet document was found.",
        "A wrong directory must not look like a fleet whose pools are all gone.",
        "Name the directory or file of the fleet.",
    ),
    "files.kind": Entry(
        "A name of a fleet document stands for something that is no file, such as a pipe or a device.",
        "Reading it might wait for ever, and would not read the same twice.",
        "Remove it, or name it otherwise.",
    ),
    "files.link": Entry(
        "A symbolic link leads out of the fleet's directory, or nowhere.",
        "What is reviewed is the directory; a link out of it brings in what nobody reviewed.",
        "Move the target into the directory, or remove the link.",
    ),
    "files.name": Entry(
        "The name of a file is not UTF-8.",
        "No message could name it, and no two systems would agree on it.",
        "Rename the file.",
    ),
    "files.size": Entry(
        "A file is larger than 16 MiB.",
        "No fleet that people review is, and memory has an end.",
        "Split the fleet into several files.",
    ),
    "files.unreadable": Entry(
        "A file cannot be opened or read.",
        "A fleet without one of its files would be another fleet, so nothing is planned.",
        "Check that it exists and that you may read it.",
    ),
    "yaml": Entry(
        "A world file cannot be read as YAML.",
        "It is read by the same rules as fleet files.",
        "Look at the place and the line above: a quote, a colon, or the indentation.",
    ),
    "yaml.alias": Entry(
        "An alias (`*name`) has no anchor before it, or would hold itself.",
        "It has no value that could be read.",
        "Write the anchor (`&name`) above it, in the same document.",
    ),
    "yaml.control": Entry(
        "A text holds a control character other than tab and line ends.",
        "It would act on terminals and logs, and both databases would keep it differently.",
        "Remove it; where it was pasted, type the text again.",
    ),
    "yaml.directive": Entry(
        "A line begins with `%`, as directives of YAML do.",
        "Files are read as YAML 1.2 core, always: nothing in a file changes how it is read.",
        "Remove the line.",
    ),
    "yaml.duplicateKey": Entry(
        "A key stands twice in one map.",
        "Most readers keep the last one in silence: an `offers:` pasted twice would withdraw the first.",
        "Keep one of the two places that the message names.",
    ),
    "yaml.encoding": Entry(
        "A byte of the file is not UTF-8, or a mark for the byte order stands inside it.",
        "Names that are read by a guess are other names.",
        "Save the file as UTF-8.",
    ),
    "yaml.expansion": Entry(
        "Aliases make far more of a document than it writes.",
        "A few lines of nested aliases can fill any memory.",
        "Write values out, or use fewer aliases of aliases.",
    ),
    "yaml.key": Entry(
        "A key of a map is no text, but a number, a list or a map.",
        "JSON and the API know keys that are texts alone.",
        "Quote it.",
    ),
    "yaml.merge": Entry(
        "A merge key (`<<`) holds something else than a map or a list of maps.",
        "There is nothing in it that could be merged.",
        "Merge an alias of a map: `<<: *base`.",
    ),
    "yaml.nesting": Entry(
        "Maps and lists are nested more than 64 deep.",
        "No field of a fleet is, and depth costs every reader.",
        "Write it flatter; brackets that were left open nest what follows.",
    ),
    "yaml.number": Entry(
        "A number is written in a way that readers take for different numbers.",
        f"{_ONE_READING} 010 is ten in YAML 1.2 and eight in 1.1.",
        "Write plain decimal digits without a leading zero, or quote a text.",
    ),
    "yaml.root": Entry(
        "A document is a list or a single value.",
        "A fleet document is a map of fields.",
        "Begin with a field such as `pools:`.",
    ),
    "yaml.syntax": Entry(
        "The text is not YAML at this place.",
        "What cannot be read whole is not read at all.",
        "Look at the place and the line above: a quote, a colon or the indentation.",
    ),
    "yaml.tab": Entry(
        "A tab stands where YAML allows blanks alone.",
        f"{_ONE_READING} Editors also show it at different widths.",
        "Use spaces.",
    ),
    "yaml.tag": Entry(
        "A value has a tag (`!name`).",
        "Tags change what a value is, and some readers run code for them.",
        "Remove the tag; quote the value if it is to be a text.",
    ),
}
