"""Rules of running: servers, tokens, databases, worlds, kept files, and calls."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

RUNNING: Final[Entries] = {
    "api.path": Entry(
        "The control plane has no such path.",
        "A server's URL ends before `/api`: what follows is the API's own.",
        "Name the server itself.",
    ),
    "apply.answer": Entry(
        "The control plane answered a write with something else than was asked for.",
        "What is there is not what was planned, so nothing that stands on it is done.",
        "Make a new plan.",
    ),
    "apply.call": Entry(
        "Nobody can tell whether a write was carried out: no answer came.",
        "It may have been; the same command finds out, and does not do it twice.",
        "Run the same command again.",
    ),
    "apply.journal": Entry(
        "A line could not be written to the journal.",
        "An operation that the journal cannot tell of is not begun.",
        "Make room, and run the same command again.",
    ),
    "apply.unseen": Entry(
        "A pool that the apply created is not visible to its next calls.",
        "A copy of the control plane's database that lags behind may answer; it was waited for in vain.",
        "Run the same command again: the pool's key makes no second one.",
    ),
    "client.answer": Entry(
        "Something answered, and not as a control plane of this version does.",
        "A gateway, a login page, or another version may stand there.",
        "Check the URL, and what stands before the server.",
    ),
    "client.body": Entry(
        "What was to be sent is no JSON.",
        "A text is not Unicode, or it is nested too deep.",
        "Correct the value.",
    ),
    "client.change": Entry(
        "The name of the change that calls carry is too long.",
        "Events keep it, and a header holds it.",
        "Give a shorter --reason.",
    ),
    "client.connect": Entry(
        "No connection to the server came about.",
        "Nothing was sent, so nothing happened.",
        "Check the URL, the network and the proxy.",
    ),
    "client.instance": Entry(
        "Another control plane answered than before in the same run.",
        "Two that share one address are two worlds, and a plan is of one.",
        "Find out what answers at this address.",
    ),
    "client.network": Entry(
        "The connection broke before the answer came.",
        "The request may have been carried out or not.",
        "Run the same command again.",
    ),
    "client.redirect": Entry(
        "The server redirects to another place.",
        "A token goes to nobody but the server that was named.",
        "Name the place itself, if you trust it.",
    ),
    "client.server": Entry(
        "The server's URL is none that can be asked.",
        "Tokens are sent over https, or to this machine, and no other way.",
        "Write https://HOST, or http://127.0.0.1:PORT.",
    ),
    "client.settings": Entry(
        "Settings of the environment for certificates or proxies cannot be used.",
        "A certificate that is not checked proves nothing, so nothing is sent without them.",
        "Correct SSL_CERT_FILE or the proxy's URL.",
    ),
    "client.token": Entry(
        "The token is none: it holds blanks, line ends or signs that no token has.",
        "It would not arrive as it is.",
        "Check the file or variable that holds it.",
    ),
    "client.walk": Entry(
        "Pools change faster than they can be read as one state.",
        "A plan on a mixture of two states would be wrong.",
        "Try again when less is written.",
    ),
    "client.webhook": Entry(
        "A notice cannot be sent to the URL of --notify, or was not taken there.",
        "That URL is often a secret, so it is never shown, and goes over https, or to this machine, and nowhere else.",
        "Check the URL, and that what answers there takes JSON.",
    ),
    "server.derivation": Entry(
        "The server derives ids in a way that this build does not know.",
        "No id that is computed here would be right there.",
        "Use the build of that server.",
    ),
    "server.digestKey": Entry(
        "The server's key for digests is none.",
        "Digests of secrets under no key would give them away.",
        "Check that it is a control plane of this version.",
    ),
    "server.rights": Entry(
        "The identity may not read what a plan reads, or may do nothing of it, or the tenant is not there.",
        "A plan on a part of the state would be wrong.",
        "`fleetctl whoami` lists the rights that are missing.",
    ),
    "target.pins": Entry(
        "The environment names another server, tenant or caller than the files.",
        "A plan against the wrong place is the most expensive slip there is.",
        "Unset the variable, or correct the files; only --server overrides, and the plan says so.",
    ),
    "token.file": Entry(
        "The token file cannot be read, or is no text.",
        "Without it nobody would know who asks.",
        "Check its path and its rights.",
    ),
    "token.missing": Entry(
        "There is no token for the server.",
        "Over the network the token says who asks.",
        "Set FLEETCTL_TOKEN, or give --token-file FILE. Whoever runs the control plane makes one:"
        " `better-compute token IDENTITY --database URL`.",
    ),
    "explain.unknown": Entry(
        "There is nothing of this name to explain.",
        "It is no pool of the files or the server, and no rule or code.",
        "Check the spelling, and --fleet.",
    ),
    "plan.blocked": Entry(
        "What is left of a plan file is blocked by a rule, a guard or a check, and earlier runs of it did the rest.",
        "Nothing may pass that blocks; the report tells what was done all the same, so that it can be taken back.",
        "The plan that the run printed says what blocks it.",
    ),
    "plan.digest": Entry(
        "The plan is not the one that --expect approves.",
        "A digest stands for one change against one live state.",
        "Look at the new plan, and approve it.",
    ),
    "plan.expected": Entry(
        "The plan takes back a difference that the files expect.",
        "`expected` lets drift pass over a difference for a time; a plan makes all as the files say.",
        "Leave the pool out by --except while it lasts, or write what is live into the files.",
    ),
    "plan.expired": Entry(
        "The plan file has expired, by the server's clock.",
        "What was approved long ago may have been approved for another world.",
        "Make a new plan.",
    ),
    "plan.file": Entry(
        "The file is no plan of this version, or was altered.",
        "A plan file approves: what is not exactly what was written approves nothing.",
        "Make the plan again.",
    ),
    "plan.inputs": Entry(
        "The files wish something else than when the plan was made.",
        "Who approved the plan has not seen this wish.",
        "Make a new plan.",
    ),
    "plan.stale": Entry(
        "The live state is not the one that the plan was made for.",
        "Its operations could do something else now than was approved.",
        "Make a new plan; the message names what moved, and who moved it.",
    ),
    "plan.target": Entry(
        "The plan was made for another server, tenant, caller or fleet.",
        "Approval is for one place.",
        "Make the plan for this target.",
    ),
    "report.file": Entry(
        "The file is no report of this version, or was altered.",
        "What is shown, or taken back, must be what was written.",
        "Name a file that `fleetctl` kept, or what it printed as JSON, unchanged.",
    ),
    "report.target": Entry(
        "The report is of an apply to another server, tenant, caller or fleet.",
        "What was done elsewhere cannot be taken back here.",
        "Take it back with the files of that fleet.",
    ),
    "snapshot.file": Entry(
        "The file is no snapshot of this version, or was cut or altered.",
        "A plan on half a state would make the other half anew.",
        "Take the snapshot again.",
    ),
    "snapshot.target": Entry(
        "The snapshot is of another server or tenant than the files name.",
        "A plan is of one control plane.",
        "Take a snapshot with these files.",
    ),
    "test.none": Entry(
        "There is no fleet test where one was looked for.",
        "A run that tests nothing must not look like one that found nothing wrong.",
        "Name the directory of the tests, or write one: a file whose name ends in .fleet-test.yaml.",
    ),
    "fleet.test": Entry(
        "A plan is not as its test says.",
        "A test says what a change to the files may do, before anybody plans it on a server.",
        "Where it fails, correct the files; or the test, where the new plan is what is meant.",
    ),
    "init.name": Entry(
        "The name of a starter's directory cannot stand in CODEOWNERS.",
        "A line that names nothing gives pins and guards no owner.",
        "Name another directory, or give --no-ci.",
    ),
    "init.ignored": Entry(
        "Files of a starter would be ignored by git: by a line that its .gitignore gets, or by one that is there.",
        "What git does not see is neither reviewed nor there in a job.",
        "Name another directory, or change the line that hides it.",
    ),
    "init.exists": Entry(
        "A starter fleet would overwrite files that are there, or its lines have no place in what is there.",
        "A starter is a beginning, and destroys nothing.",
        "Name a directory that is empty or new.",
    ),
    "export.out": Entry(
        "An export would replace a file, or would be read as part of the fleet it is made from.",
        "An export is a beginning, and destroys nothing.",
        "Name another directory.",
    ),
    "bootstrap.token": Entry(
        "The first token cannot be written, or is there already.",
        "It is shown once, to one file.",
        "Name another file, or use the token that is there.",
    ),
    "identity.owner": Entry(
        "A token is to be made for an identity that is not there.",
        "A token is somebody's.",
        "Create the identity first, or correct its name.",
    ),
    "undo.left": Entry(
        "An operation of the report is not taken back.",
        "It has no inverse (an archived pool is not revived, an old secret is not kept), or it was not this apply's.",
        "Change the files to what should be there.",
    ),
    "undo.moved": Entry(
        "What the apply did was changed since, by somebody else or a later apply.",
        "To take it back would take theirs with it; nothing was written.",
        "Leave it out by --only or --except, or take back the later apply first.",
    ),
    "undo.outside": Entry(
        "An operation of the report still stands, outside of the part that --only or --except chose.",
        "Nobody asked for it to be taken back.",
        "Leave --only and --except out to take back the rest too.",
    ),
    "version": Entry(
        "The object has another version than the one that the write names.",
        "Somebody changed it in between.",
        "Read it again; for a plan, make a new one.",
    ),
    "world": Entry(
        "A world file says something that cannot be.",
        "It is what a new control plane starts with: tenants, sites, identities, accounts and machines.",
        "Correct the place that the message names.",
    ),
    "world.identity": Entry(
        "The files' caller is no identity of the embedded control plane.",
        "It believes the caller's name, and knows those that its world file declares.",
        "Add the line of the hint under `identities:` in the world file.",
    ),
    "serve.attestor": Entry(
        "An attestor is not given as NAME=KEYFILE: its name or its file is none, its key is too short or too long, or"
        " its name is given twice.",
        "Whoever knows the key lets machines in, so it is long enough not to be guessed, and one name has one key.",
        "Write `--attestor NAME=KEYFILE`, and make a key with `openssl rand -hex 32 > KEYFILE`.",
    ),
    "serve.files": Entry(
        "The process may open too few files to serve.",
        "Every connection is one.",
        "Raise the limit: `ulimit -n 1024`.",
    ),
    "serve.listen": Entry(
        "The address cannot be listened at.",
        "It is taken, not this machine's, or no address.",
        "Write HOST:PORT, with a port that is free.",
    ),
    "storage": Entry(
        "The database did not answer, or could not do it now.",
        "It may be down, busy, or out of room; nothing was half done.",
        "Try again; the log of the control plane has what the database said.",
    ),
    "storage.damaged": Entry(
        "The database is damaged.",
        "What is in it cannot be trusted.",
        "Restore it from a backup.",
    ),
    "storage.schema": Entry(
        "The database was written by a newer build.",
        "An older one would not know what it must keep true.",
        "Run the build that migrated it, or a later one.",
    ),
    "storage.url": Entry(
        "The database's URL names none that can be used.",
        "It is SQLite in a file, or PostgreSQL.",
        "Write sqlite:///FILE or postgresql://HOST/NAME.",
    ),
}
