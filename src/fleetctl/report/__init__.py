"""Reports: what a command found or did, as JSON-ready values. Every output is made from them.

`forms` are their shapes, the public contract, and `schemas` their JSON Schemas. Modules whose name begins with `of_`
make one each; `parts`, `problems` and `tenants` make what several share, and mask what may not be shown. `saved` spells
reports as bytes and reads them back, and knows both `sides` of each operation; `plan_file` tells what a plan file
approves, `apply_file` what there is to be undone of an apply.
"""
