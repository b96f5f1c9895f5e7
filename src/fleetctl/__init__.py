"""GPU capacity as code: fleet files, plan, apply and drift.

The layers, high to low. Each knows those below it alone, as `pyproject.toml` has it; those of one line know each other
neither.

- `entry`: the command, up to where it needs more than its version;
- `cli`: flags in, a result and an exit code out;
- `flow`: each command as numbered steps, the place to begin to read;
- `render`: a report in one format, such as text, markdown or SARIF;
- `outline`: a report in words, without markup;
- `report`: what a command found or did, as data; `session`: files and live state, both read;
- `together`: what plans of several branches break only together;
- `undo`: what takes an apply back, found in its report and in what happened since;
- `preflight`, `guards` and `checks` judge a plan, and `apply` is the only writer; `drift` says what moved, and who did
  it; `explain` shows one pool from all sides; `export` and `snapshot` write live state down; `fleet_tests` hold plans
  against what was expected; `outputs` are the files that a command is to write, and `notify` tells a webhook;
- `consequences`: what a plan does to what tenants may book;
- `plan`: the operations, proven and in order, with one digest;
- `order`: by dependency, so that every state in between is legal;
- `comparison`: files against live state, for plan and drift: what differs, whose doing it is, which part is asked for;
- `fleet_diff`: two fleets by what their files wish; `starter`: a fleet to begin with;
- `diff`: desired against live state, field by field;
- `base`: the files as they were, and git; `identity`: which live pool each entry means; `history`: what happened to
  each object;
- `desired`: what the files wish; `live`: what the control plane has; `formatting`: files in canonical form;
- `files`: from a path to documents that know the line of each value; `results`: what earlier runs kept;
- `machine`: disk, clock and signals of the machine that a run is on;
- `request`: what the command line and the environment ask for;
- `catalogue` explains rules and codes; `errors` are the ways to end other than well; `look`, `override`, `paths`,
  `spelling` and `words` are small things that many share.
"""

__version__ = "0.1.0"
