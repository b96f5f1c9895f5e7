"""Drawings of a plan: each operation a node, and an arrow from every one that must come before it. ASCII. Severity is
told by colour, by shape and in words.

`mermaid` and `dot` leave the places to others; `svg` is drawn here, on the places that `layout` finds. All take
their colours from `palette`.
"""
