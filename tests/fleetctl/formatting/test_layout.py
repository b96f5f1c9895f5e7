"""The canonical layout, piece by piece: each text becomes the other, and that one stays as it is."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fleetctl.formatting import format_text

PAIRS = {
    "two blanks a level": (
        """
        server:
            embedded: a.db
            world:    w.yaml
        """,
        """
        server:
          embedded: a.db
          world: w.yaml
        """,
    ),
    "a list stands below its key": (
        """
        pools:
        - idempotencyKey: a
          offers:
          - toTenantId: acme
        offers: []
        """,
        """
        pools:
          - idempotencyKey: a
            offers:
              - toTenantId: acme
        offers: []
        """,
    ),
    "a dash stands on the line of its item": (
        """
        pools:
            -
                idempotencyKey: a
            -   - 1
                -
                  - 2
        """,
        """
        pools:
          - idempotencyKey: a
          - - 1
            - - 2
        """,
    ),
    "a dash without an item takes no other's": (
        """
        x:
            -
            - 1
        y:
        -
        z: 1
        """,
        """
        x:
          -
          - 1
        y:
          -
        z: 1
        """,
    ),
    "brackets hug what is in them": (
        """
        a: { gpu: 8,vcpu : 3 , "x":1 }
        b: [ 1,2 , 3,]
        c: { }
        d: {a: , b: [ ]}
        """,
        """
        a: {gpu: 8, vcpu: 3, x: 1}
        b: [1, 2, 3,]
        c: {}
        d: {a: , b: []}
        """,
    ),
    "brackets over lines keep these": (
        """
        a:
          b: {
                gpu: 8,   # why
              # alone
              list: [1,
              2
              ]
              }
        """,
        """
        a:
          b: {
            gpu: 8,  # why
            # alone
            list: [1,
              2
            ]
          }
        """,
    ),
    "quotes go where nobody needs them": (
        """
        "a": 'acme'
        b: "fra1-h100"
        c: 'gpu.mig'
        d: "_x/y+z@1.2"
        e: '/dev/x (of the host)'
        f: "6h"
        """,
        """
        a: acme
        b: fra1-h100
        c: gpu.mig
        d: _x/y+z@1.2
        e: /dev/x (of the host)
        f: 6h
        """,
    ),
    "quotes stay where a reader needs them": (
        """
        a: "0010"
        b: "no"
        c: "On"
        d: "null"
        e: "1e3"
        f: ""
        g: "12:30"
        h: "2026-12-20"
        i: "a: b"
        j: "a #b"
        k: "~"
        l: "y"
        m: "zażółć"
        n: "-"
        o: "*x"
        "<<": 1
        "true": 1
        """,
        """
        a: "0010"
        b: "no"
        c: "On"
        d: "null"
        e: "1e3"
        f: ""
        g: "12:30"
        h: "2026-12-20"
        i: "a: b"
        j: "a #b"
        k: "~"
        l: "y"
        m: "zażółć"
        n: "-"
        o: "*x"
        "<<": 1
        "true": 1
        """,
    ),
    "double quotes rather than single ones": (
        """
        a: 'two, words'
        b: 'it''s'
        c: 'a "quoted" word'
        d: 'back\\slash'
        e: "\\u0041, \\u0042"
        """,
        """
        a: "two, words"
        b: "it's"
        c: 'a "quoted" word'
        d: 'back\\slash'
        e: "\\u0041, \\u0042"
        """,
    ),
    "text over lines keeps them": (
        """
        a:
            b: |
                one
                  two

                three
            c: >-
             folded
             text
            d: plain
                text

                here
            e: "in \\
                 quotes \\
               too"
        """,
        """
        a:
          b: |
            one
              two

            three
          c: >-
            folded
            text
          d: plain
            text

            here
          e: "in \\
            quotes \\
            too"
        """,
    ),
    "a text says its own indentation": (
        """
        a:
            - |4-
                  deep
                flat
            - >1
               x
        """,
        """
        a:
          - |2-
              deep
            flat
          - >2
              x
        """,
    ),
    "empty lines that a text keeps": (
        """
        a: |+
            one


        b: |
            two


        c: 3
        """,
        """
        a: |+
          one


        b: |
          two

        c: 3
        """,
    ),
    "blanks alone that a text keeps": ("a: |+\n        \nx: 1\n", "a: |+\n\nx: 1\n"),
    "blanks that are deeper than their text": (
        "a:\n   - |\n     x\n       \n\nb: 1\n",
        "a:\n  - |\n    x\n      \n\nb: 1\n",
    ),
    "a text whose last line has no end": ("a: |\n    x\n    y", "a: |-\n  x\n  y\n"),
    "one that would keep it": ("a: >2+  # why\n    x", "a: >2-  # why\n    x\n"),
    "one item at the column of its dash": ("a:\n- \n>\n  x\n", "a:\n  - >\n    x\n"),
    "one empty line at most": ("\n\n\na: 1\n\n\n\nb: 2\n\n\n", "a: 1\n\nb: 2\n"),
    "a final line end": ("a: 1", "a: 1\n"),
    "no blanks at the end of a line": ("a: 1  \nb:   \n  c: 2 \n# d  \n", "a: 1\nb:\n  c: 2\n# d\n"),
    "comments stand with what they are about": (
        """
        # top
        pools:
            # of a
            - a: 1
              # below b
              b: 2
              # end of the entry
            # end of the list
        # of offers
        offers: []
          # odd
        """,
        """
        # top
        pools:
          # of a
          - a: 1
            # below b
            b: 2
            # end of the entry
          # end of the list
        # of offers
        offers: []
        # odd
        """,
    ),
    "a comment behind a list at its key's column": (
        """
        pools:
        - a: 1
        # of b
        - b: 1
          # inside b
        # of offers
        offers: []
        """,
        """
        pools:
          - a: 1
          # of b
          - b: 1
            # inside b
        # of offers
        offers: []
        """,
    ),
    "comments behind values": (
        """
        a: 1 # one
        bcd: "e"       # in a column
        fghij: kl      # in a column
        m:    # of m
            n: 1
            other: "o"   # alone
                         # below

        p: 1         # another column
        qrstuvw: 2   # another column
        o: |  # text
            p
        """,
        """
        a: 1  # one
        bcd: e     # in a column
        fghij: kl  # in a column
        m:  # of m
          n: 1
          other: o  # alone
          # below

        p: 1        # another column
        qrstuvw: 2  # another column
        o: |  # text
          p
        """,
    ),
    "anchors, aliases and merges": (
        """
        x-a:   &a
            gpu:  8
        b:
            <<:   *a
            c: [ *a , &d  e ]
        *a : 1
        """,
        """
        x-a: &a
          gpu: 8
        b:
          <<: *a
          c: [*a, &d e]
        *a : 1
        """,
    ),
    "documents and what stands between them": (
        """
        # before

        --- # first
        a: 1
        ...
        # between
        ---
        # only a comment
        ---
        b: 2
        ...
        # after
        """,
        """
        # before

        ---  # first
        a: 1
        ...
        # between
        ---
        # only a comment
        ---
        b: 2
        ...
        # after
        """,
    ),
    "a directive": ("%YAML 1.2\n---\na:   1\n", "%YAML 1.2\n---\na: 1\n"),
    "a key with a question mark": ("? a\n:   b\n?   c\n", "? a\n: b\n? c\n"),
    "comments alone": ("  # a\n\n\n\n # b", "# a\n\n# b\n"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_text_becomes_canonical_and_stays_so(name: str) -> None:
    written, wanted = map(_text, PAIRS[name])
    assert format_text(written) == wanted
    assert format_text(wanted) == wanted


def _text(told: str) -> str:
    """A text of the table; what begins with an indented line stands below the quotes."""
    return dedent(told).removeprefix("\n") if told.startswith("\n    ") else told
