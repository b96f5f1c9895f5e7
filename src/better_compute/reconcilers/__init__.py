"""What is done without being asked: level-triggered, from what is stored alone.

`placer` tries what waits, `admission` lets in what is placed.
"""
